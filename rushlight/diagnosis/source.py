"""A user's source file: its lines and syntax tree, and edits built from both."""

from __future__ import annotations

import ast
import functools
import linecache
import sys

from .blocks import block_of, blocks
from .finding import Edit, Fix
from .unfolded import on_lines_of_their_own

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


typed: dict[str, str] = {}  # the user's text that is in no file, by the name it goes by

# Expressions that a method may follow without parentheses.
ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple)


class Source:
    """One parsed file. Columns are in characters, lines from 1."""

    def __init__(self, file: str, text: str):
        self.file = file
        self.text = text
        self.lines = text.split("\n")
        self.tree = _without_annotations(ast.parse(text))
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                child.parent = node

    @staticmethod
    def of(file: str) -> Source | None:
        """The parsed file, or None where there is no Python source to be read."""
        text = "".join(linecache.getlines(file)) or typed.get(file)
        return _parsed(file, text) if text else None

    @staticmethod
    def of_module(name: str | None) -> Source | None:
        """The parsed file of a module that was imported."""
        file = getattr(sys.modules.get(name or ""), "__file__", None)
        return Source.of(file) if isinstance(file, str) else None

    def segment(self, node: ast.AST) -> str:
        """The text of a node as written."""
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if first is None or last is None:
            return ast.unparse(node)
        lines = [line.encode() for line in self.lines[first - 1 : last]]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode(errors="replace")

    # ---- Finding nodes

    @functools.cached_property
    def _by_range(self) -> dict[tuple, ast.AST]:
        """The innermost expression or statement of each range."""
        return {
            (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset): n
            for n in ast.walk(self.tree)  # outer nodes first
            if isinstance(n, (ast.expr, ast.stmt))
        }

    def node_at(self, line: int, end_line: int, column: int, end_column: int) -> ast.AST | None:
        """The smallest expression that covers a range (columns in bytes, as code objects say)."""
        exact = self._by_range.get((line, end_line, column, end_column))
        if exact is not None:
            return exact
        best = None
        for node in ast.walk(self.tree):
            if not isinstance(node, (ast.expr, ast.stmt)):
                continue
            begins = (node.lineno, node.col_offset) <= (line, column)
            ends = (node.end_lineno, node.end_col_offset) >= (end_line, end_column)
            if begins and ends and (best is None or _inside(node, best)):
                best = node
        return best

    def statement(self, line: int) -> ast.stmt | None:
        """The innermost statement that covers a line."""
        best = None
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
                best = node if best is None or _inside(node, best) else best
        return best

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The statement that a node stands in."""
        while not isinstance(node, ast.stmt):
            node = node.parent
        return node

    def function_of(self, node: ast.AST) -> ast.AST | None:
        """The function that a node stands in, None at the top of the file."""
        node = getattr(node, "parent", None)
        while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node = getattr(node, "parent", None)
        return node

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The class that a node stands in."""
        node = getattr(node, "parent", None)
        while node is not None and not isinstance(node, ast.ClassDef):
            node = getattr(node, "parent", None)
        return node

    def loops_around(self, node: ast.AST) -> list[ast.AST]:
        """The for and while loops around a node in its function, innermost first."""
        loops, node = [], getattr(node, "parent", None)
        while node is not None and not isinstance(node, _SCOPES):
            if isinstance(node, (ast.For, ast.While)):
                loops.append(node)
            node = getattr(node, "parent", None)
        return loops

    def assignments(self, name: str, scope: ast.AST | None = None) -> list[ast.stmt]:
        """Statements that bind a plain name, in order, in a function or at the top of the file."""
        found = []
        for node in ast.walk(scope or self.tree):
            if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            if name in names and (scope or self.function_of(node) is None):
                found.append(node)
        return sorted(found, key=lambda n: n.lineno)

    def last_assignment(self, name: str, before: int, scope: ast.AST | None = None):
        """The last statement before a line that binds a name, or None."""
        return next((s for s in reversed(self.assignments(name, scope)) if s.lineno < before), None)

    def leading_to(self, node: ast.AST) -> list[ast.stmt]:
        """The statements of a function that an expression's names come from, back to front."""
        scope, found, todo = self.function_of(node), [], [node]
        while todo:
            part = todo.pop()
            for name in [n for n in ast.walk(part) if isinstance(n, ast.Name)]:
                bound = self.last_assignment(name.id, part.lineno, scope)
                value = value_of(bound) if bound is not None else None
                if value is not None and bound not in found:
                    found.append(bound)
                    todo.append(value)
        return found

    def attribute_assignments(self, name: str, class_def: ast.ClassDef) -> list[ast.stmt]:
        """Statements ``self.NAME = ...`` in a class."""
        return [
            node
            for node in ast.walk(class_def)
            if isinstance(node, ast.Assign)
            for target in node.targets
            for t in (target.elts if isinstance(target, ast.Tuple) else [target])
            if isinstance(t, ast.Attribute)
            and isinstance(t.value, ast.Name)
            and t.value.id == "self"
            and t.attr == name
        ]

    # ---- Edits, of whole lines

    def replace(self, *changes: tuple[ast.AST, str]) -> Edit:
        """Nodes become other text; all of them within one run of lines."""
        first = min(node.lineno for node, _ in changes)
        last = max(node.end_lineno for node, _ in changes)
        text = [line.encode() for line in self.lines[first - 1 : last]]
        for node, new in sorted(changes, key=lambda c: (-c[0].lineno, -c[0].col_offset)):
            a, b = node.lineno - first, node.end_lineno - first
            head, tail = text[a][: node.col_offset], text[b][node.end_col_offset :]
            text[a : b + 1] = [placed(node, head, new, tail)]
        return Edit(self.file, first, last, b"\n".join(text).decode())

    def fix(self, node: ast.AST, text: str, shown: str | None = None, **parts) -> Fix:
        """A node becomes other text; shown as that text, or as what is said here."""
        return Fix(shown or text, [self.replace((node, text))], **parts)

    @on_lines_of_their_own
    def insert_before(self, node: ast.stmt, text: str) -> Edit:
        """Lines of their own before a statement, at its indentation."""
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        line = self.lines[first - 1]
        return Edit(self.file, first, first, f"{self.indented(node, text)}\n{line}")

    @on_lines_of_their_own
    def insert_after(self, node: ast.stmt, text: str) -> Edit:
        """Lines of their own after a statement, at its indentation."""
        last = node.end_lineno
        return Edit(self.file, last, last, f"{self.lines[last - 1]}\n{self.indented(node, text)}")

    @on_lines_of_their_own
    def instead(self, node: ast.stmt, text: str) -> Edit:
        """Lines in the place of a statement, at its indentation."""
        return Edit(self.file, node.lineno, node.end_lineno, self.indented(node, text))

    @on_lines_of_their_own
    def remove(self, node: ast.stmt) -> Edit:
        """The lines of a statement go; a block that would be empty passes."""
        alone = not isinstance(node.parent, ast.Module) and block_of(node) == [node]
        text = self.indented(node, "pass") if alone else ""
        return Edit(self.file, node.lineno, node.end_lineno, text)

    def indented(self, node: ast.stmt, text: str) -> str:
        """Text with a statement's indentation before each line."""
        space = self.indentation(node)
        return "\n".join(space + line if line else line for line in text.split("\n"))

    def indentation(self, node: ast.AST) -> str:
        """The white space that a node's line begins with."""
        line = self.lines[node.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def reindented(self, first: int, last: int, by: int) -> str:
        """Lines moved to the right (or to the left) by so many columns."""
        out = []
        for line in self.lines[first - 1 : last]:
            out.append(" " * by + line if by > 0 and line.strip() else line[-by if by < 0 else 0 :])
        return "\n".join(out)


def first_of(function: ast.FunctionDef) -> ast.stmt:
    """The first statement of a function, behind what it says of itself."""
    first = function.body[0]
    said = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1] if said and function.body[1:] else first


def value_of(bound: ast.stmt) -> ast.expr | None:
    """What a statement that binds names takes their values from; ``x: int`` takes none."""
    return bound.iter if isinstance(bound, ast.For) else bound.value


def _without_annotations(tree: ast.Module) -> ast.Module:
    """Reads ``x: Tensor = f()`` as ``x = f()``, at the same place; of any depth."""
    for node in ast.walk(tree):
        for block in blocks(node):
            block[:] = map(_unannotated, block)
    return tree


def _unannotated(node: ast.stmt) -> ast.stmt:
    if not isinstance(node, ast.AnnAssign) or node.value is None:
        return node
    return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)


def placed(node: ast.AST, head: bytes, text: str, tail: bytes) -> bytes:
    """A node's new text between its neighbours: ``(a > b).mean()`` may lose its parentheses."""
    before_a_method = isinstance(getattr(node, "parent", None), ast.Attribute)
    if before_a_method and head[-1:] + tail[:1] == b"()" and _is_atom(text):
        head, tail = head[:-1], tail[1:]
    return head + text.encode() + tail


def _is_atom(text: str) -> bool:
    """Whether an expression's text needs no parentheses before a method."""
    try:
        return isinstance(ast.parse(text.strip(), mode="eval").body, ATOMS)
    except SyntaxError:
        return False


def _inside(node: ast.AST, outer: ast.AST) -> bool:
    return (node.lineno, node.col_offset) >= (outer.lineno, outer.col_offset) and (
        node.end_lineno,
        node.end_col_offset,
    ) <= (outer.end_lineno, outer.end_col_offset)


@functools.lru_cache(maxsize=256)
def _parsed(file: str, text: str) -> Source | None:
    try:
        return Source(file, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested deeply
        return None
