"""Changes of the user's source as text: a method after an expression, a keyword in a call."""

from __future__ import annotations

import ast
import itertools
import re

from .finding import Edit, Fix
from .source import ATOMS, Source, placed
from .unfolded import on_lines_of_their_own

_PACKAGES = ("torch", "rushlight")
_SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def atom(source: Source, node: ast.AST) -> str:
    """An expression's text, in parentheses where a method could not follow it."""
    text = source.segment(node)
    return text if isinstance(node, ATOMS) else f"({text})"


def method(source: Source, node: ast.AST, call: str) -> str:
    """``node.call``: ``(a + b).float()``."""
    return f"{atom(source, node)}.{call}"


def less(source: Source, node: ast.AST, number: int) -> str:
    """``node - number``, in parentheses where more is done with the expression."""
    text = f"{atom(source, node)} - {number}"
    parent = node.parent
    is_alone = isinstance(parent, (ast.stmt, ast.keyword, ast.Tuple, ast.List)) or (
        isinstance(parent, ast.Call) and node is not parent.func
    )
    return text if is_alone else f"({text})"


def out_of_place(source: Source, statement: ast.AugAssign) -> str:
    """``x -= a + b`` as ``x = x - (a + b)``."""
    name, value = source.segment(statement.target), statement.value
    text = source.segment(value) if isinstance(value, ast.Constant) else atom(source, value)
    return f"{name} = {name} {_SIGNS[type(statement.op)]} {text}"


def after(source: Source, node: ast.AST, call: str) -> Edit:
    """An edit that puts a method call behind an expression."""
    return source.replace((node, method(source, node, call)))


def call_text(source: Source, call: ast.Call, func: str | None, arguments: list[str]) -> str:
    """A call with other arguments, or of something else."""
    return f"{func or source.segment(call.func)}({', '.join(arguments)})"


def arguments(source: Source, call: ast.Call, without: tuple[str, ...] = ()) -> list[str]:
    """A call's arguments as written, keywords last, without some keywords."""
    found = [source.segment(a) for a in call.args]
    for keyword in call.keywords:
        if keyword.arg is None:
            found.append(f"**{source.segment(keyword.value)}")
        elif keyword.arg not in without:
            found.append(f"{keyword.arg}={source.segment(keyword.value)}")
    return found


def given(call: ast.AST) -> list[ast.expr]:
    """What a call is given, by place and by name."""
    if not isinstance(call, ast.Call):
        return []
    return [*call.args, *(k.value for k in call.keywords)]


def with_keyword(source: Source, call: ast.Call, name: str, text: str) -> str:
    """A call with a keyword set, whether it was there or not."""
    kept = arguments(source, call, (name,))
    return call_text(source, call, None, [*kept, f"{name}={text}"])


def without_keyword(source: Source, call: ast.Call, name: str) -> str:
    """A call without one of its keywords."""
    return call_text(source, call, None, arguments(source, call, (name,)))


def keyword(call: ast.AST, name: str) -> ast.expr | None:
    """A keyword's value in a call."""
    for k in getattr(call, "keywords", ()):
        if k.arg == name:
            return k.value
    return None


def with_part(source: Source, whole: ast.AST, part: ast.AST, text: str) -> str:
    """An expression's text with one part of it written otherwise."""
    expression = source.segment(whole).encode()
    lines = source.text.encode().split(b"\n")
    between = sum(len(line) + 1 for line in lines[whole.lineno - 1 : part.lineno - 1])
    start = between + part.col_offset - whole.col_offset
    length = len(source.segment(part).encode())
    return placed(part, expression[:start], text, expression[start + length :]).decode()


def dedent_body(source: Source, block: ast.With) -> Edit:
    """A ``with`` goes and its body moves one level out."""
    first, last = block.body[0], block.body[-1]
    space = len(source.indentation(first)) - len(source.indentation(block))
    lines = source.lines[block.lineno - 1 : last.end_lineno]
    body = lines[first.lineno - block.lineno :]
    if first.lineno == block.lineno:  # all of it on one line
        text = "; ".join(source.segment(s) for s in block.body)
        return Edit(source.file, block.lineno, last.end_lineno, source.indentation(block) + text)
    moved = [line[space:] if line[:space].isspace() else line for line in body]
    return Edit(source.file, block.lineno, last.end_lineno, "\n".join(moved))


def within(source: Source, statement: ast.stmt, head: str) -> Edit:
    """A statement goes into a block: ``with torch.no_grad():`` and the statement under it."""
    return within_all(source, [statement], head)


@on_lines_of_their_own
def after_line(source: Source, statement: ast.stmt, line: str, nodes: list, texts: list) -> Edit:
    """A line of its own before a statement, some of whose nodes become other text."""
    changed = source.replace(*zip(nodes, texts, strict=True))
    kept = source.lines[statement.lineno - 1 : changed.line - 1]
    text = "\n".join([source.indented(statement, line), *kept, changed.text])
    return Edit(source.file, statement.lineno, changed.end_line, text)


def free_name(source: Source, *wishes: str) -> str:
    """The first of some names that a file does not use, or the last with a number behind it."""
    taken = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    taken |= {n.arg for n in ast.walk(source.tree) if isinstance(n, ast.arg)}
    more = (f"{wishes[-1]}{number}" for number in itertools.count(2))
    return next(n for n in itertools.chain(wishes, more) if n not in taken)


@on_lines_of_their_own
def within_all(source: Source, run: list[ast.stmt], head: str) -> Edit:
    """Statements that follow each other go into one block."""
    first, last = run[0].lineno, run[-1].end_lineno
    space = source.indentation(run[0])
    lines = source.lines[first - 1 : last]
    text = "\n".join([f"{space}{head}", *(f"    {line}" if line else line for line in lines)])
    return Edit(source.file, first, last, text)


def with_definition(source: Source, head: ast.stmt, text: str, node: ast.AST, name: str):
    """Edits: what defines a name before a statement, and the name for a part of it or after it."""
    first = min([head.lineno, *(d.lineno for d in getattr(head, "decorator_list", []))])
    changed = source.replace((node, name))
    if changed.line > first:
        return [source.insert_before(head, text), changed]
    return [Edit(source.file, changed.line, changed.end_line, f"{text}\n{changed.text}")]


def torch_name(source: Source) -> str:
    """What the file calls torch."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name in _PACKAGES:
                    return name.asname or name.name
    return "torch"


def is_tensor_method(source: Source, node) -> bool:
    """Whether a node is a call ``tensor.name(...)``, of something that is no imported module."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    root = node.func.value
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return True
    return root.id not in imported(source)


def imported(source: Source) -> set[str]:
    """The names that import statements bind anywhere in a file."""
    return {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }


def prefix_for(source: Source, path: str) -> str:
    """What a file calls a part of torch, ``nn.functional``: a name of its own, or in full."""
    outer, _, last = path.rpartition(".")
    for node in ast.walk(source.tree):
        names = {a.name: a.asname for a in getattr(node, "names", ()) if isinstance(a, ast.alias)}
        for package in _PACKAGES:
            module = f"{package}.{outer}" if outer else package
            if isinstance(node, ast.ImportFrom) and node.module == module and last in names:
                return names[last] or last
            if isinstance(node, ast.Import) and names.get(f"{package}.{path}"):
                return names[f"{package}.{path}"]
    torch = torch_name(source)
    if outer and torch not in imported(source):
        return f"{prefix_for(source, outer)}.{last}"
    return f"{torch}.{path}"


def another(source: Source, func: ast.expr, name: str) -> str:
    """Another class of the module that one comes from: ``nn.LogSoftmax`` for ``nn.Softmax``."""
    if isinstance(func, ast.Attribute):
        return f"{source.segment(func.value)}.{name}"
    return name if name in imported(source) else f"{prefix_for(source, 'nn')}.{name}"


_MODULES = {"torch": "import torch", "copy": "import copy", "nn": "from torch import nn"}


def with_imports(fix: Fix) -> None:
    """Adds the imports that a fix's new text needs and its file lacks, where its imports begin."""
    for file in {e.file for e in fix.edits}:
        source, mine = Source.of(file), [e for e in fix.edits if e.file == file]
        first = next(
            (s for s in source.tree.body if isinstance(s, (ast.Import, ast.ImportFrom))), None
        ) if source else None  # fmt: skip
        if first is None or getattr(first, "module", "") == "__future__":
            continue
        known = imported(source) | {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
        used = set(re.findall(r"(?<![\w.])(\w+)\.\w", "\n".join(e.text for e in mine)))
        added = [_MODULES[n] for n in _MODULES if n in used and n not in known]
        text = "\n".join(a for a in added if a not in "\n".join(e.text for e in mine))
        line = first.lineno
        if text and not any(e.line <= line <= e.end_line for e in mine):
            fix.edits.append(Edit(file, line, line, f"{text}\n{source.lines[line - 1]}"))
