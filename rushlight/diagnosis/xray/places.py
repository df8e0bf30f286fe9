"""What the source says of the place where an op was called: its line, text, targets and loops."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..source import Source

_MOST_TEXT = 90
_SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.MatMult: "@", ast.Mod: "%",
    ast.FloorDiv: "//", ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_OPERATORS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Place:
    """One call in the program. ``text`` is the call as written, less what it is called on;
    ``called`` the last name of what is called, "" for an operator, "[]" for an index,
    "?" for what else runs ops; ``span`` its columns where it
    stands on one line; ``targets`` the names bound to its result; ``loops`` the first lines of
    the loops around it in its function, outermost first."""

    file: str
    line: int
    function: str
    text: str = ""
    called: str = ""
    span: tuple | None = None
    targets: tuple = ()
    loops: tuple = ()

    @property
    def row(self) -> tuple[str, int]:
        return self.file, self.line


def read_place(place) -> Place:
    """Of (file, function, line, end line, column, end column), as the core gives it."""
    file, function, line, end_line, column, end_column = place
    source = Source.of(file)
    node = None
    if source is not None and column >= 0 and line <= len(source.lines):
        node = source.node_at(line, end_line, column, end_column)
    if node is None:
        return Place(file, line, function)
    span = None
    if line == end_line:
        text = source.lines[line - 1].encode()
        span = tuple(len(text[:c].decode(errors="replace")) for c in (column, end_column))
    text, targets = _text(source, node), _targets(source, node)
    function = _function(node)
    return Place(file, line, function, text, _called(node), span, targets, _loops(node))


def _function(node: ast.AST) -> str:
    """The function around a node; comprehensions run with it."""
    while node is not None and not isinstance(node, _FUNCTIONS):
        node = getattr(node, "parent", None)
    return "<module>" if node is None else getattr(node, "name", f"<lambda> {node.lineno}")


def _called(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return getattr(node.func, "attr", getattr(node.func, "id", "?"))
    if isinstance(node, ast.Subscript):
        return "[]"
    return "" if isinstance(node, _OPERATORS) else "?"


def _text(source: Source, node: ast.AST) -> str:
    """``.transpose(1, 2)`` of ``q.transpose(1, 2)``; of what is no method, all of it."""
    text = _flat(source, node)
    if isinstance(node, ast.BinOp):
        sides = [_flat(source, side) for side in (node.left, node.right)]
        left, right = (s if len(s) <= 24 else "..." for s in sides)
        return f"{left} {_SIGNS[type(node.op)]} {right}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        before = _flat(source, node.func.value)
        if len(text) > 40 and text.startswith(before + "."):
            text = text[len(before) :]
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 3] + "..."


def _flat(source: Source, node: ast.AST) -> str:
    return " ".join(source.segment(node).split())


def _targets(source: Source, node: ast.AST) -> tuple:
    """The names that the value of an expression is bound to: one, or one for each of its parts."""
    outer, at = getattr(node, "parent", None), None
    if isinstance(outer, ast.Assign) and node in outer.targets:  # the unpacking itself
        node = outer.value
    if isinstance(node, ast.AugAssign):
        return (source.segment(node.target),)
    if isinstance(outer, ast.Tuple):
        at, node, outer = outer.elts.index(node), outer, getattr(outer, "parent", None)
    if isinstance(outer, ast.Assign) and outer.value is node:
        target = outer.targets[0]
    elif isinstance(outer, (ast.AnnAssign, ast.NamedExpr)) and outer.value is node:
        target = outer.target
    else:
        return ()
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    if at is not None:
        parts = parts[at : at + 1] if len(parts) > 1 else []
    names = [source.segment(t) if isinstance(t, (ast.Name, ast.Attribute)) else "" for t in parts]
    return tuple(names)


def _loops(node: ast.AST) -> tuple:
    found = []
    inner, node = node, getattr(node, "parent", None)
    while node is not None and not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        if isinstance(node, ast.While) or (
            isinstance(node, (ast.For, ast.AsyncFor)) and inner not in (node.iter, node.target)
        ):
            found.append(node.lineno)
        inner, node = node, getattr(node, "parent", None)
    return tuple(reversed(found))
