"""Findings at sites, and the edits that checks share."""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Iterator

from rushlight import _C, nn

from .. import changes, upstream
from ..finding import Edit, Finding, Related
from ..frames import called
from ..source import Source
from ..unfolded import on_lines_of_their_own
from . import calls
from .calls import Site, is_user


def found(id: str, severity: str, site, title: str, evidence=(), related=(), fixes=()) -> Finding:
    """A Finding at a site, or at (file, line); related: (site or (file, line), role)."""
    file, line = place(site)
    others = [Related(*place(s), role) for s, role in related if s is not None]
    return Finding(id, severity, file, line, title, list(evidence), others, list(fixes))


def place(site) -> tuple[str, int]:
    if isinstance(site, Site):
        return site.file, site.line
    return site[0], site[1]


def here() -> Site | None:
    """The user's place that runs now."""
    return calls.here()


def user_frames(depth: int = 1) -> list:
    """The user's frames that run now, innermost first."""
    frame, frames = sys._getframe(depth), []
    while frame is not None:
        if is_user(frame.f_code):
            frames.append(frame)
        frame = frame.f_back
    return frames


def modules_in(room: dict) -> Iterator[tuple[str, nn.Module]]:
    """The modules that names stand for, with those in attributes of objects (a trainer's model)."""
    for name, value in list(room.items()):
        if isinstance(value, nn.Module):
            yield name, value
        elif not isinstance(value, type) and type(value).__module__ not in ("builtins", "types"):
            inner = getattr(value, "__dict__", {})
            if len(inner) < 60:
                held = list(inner.items())
                yield from ((f"{name}.{n}", v) for n, v in held if isinstance(v, nn.Module))


def parts_of(batch) -> dict:
    """A batch's parts by key or number; of anything but a container itself, by None."""
    if isinstance(batch, dict):
        return batch
    return dict(enumerate(batch)) if isinstance(batch, (list, tuple)) else {None: batch}


def misspelt_switches(parameter) -> list[str]:
    """Attributes that were set on a parameter in place of ``requires_grad``."""
    alike = difflib.SequenceMatcher(None, "", "requires_grad")
    found = []
    for name in vars(parameter):
        alike.set_seq1(name)
        if alike.ratio() > 0.85:
            found.append(name)
    return found


def call_at(site: Site) -> ast.Call | None:
    """The call at a site."""
    node = site.node
    while node is not None and not isinstance(node, (ast.Call, ast.stmt)):
        node = getattr(node, "parent", None)
    return node if isinstance(node, ast.Call) else None


def is_of(site: Site, *names: str) -> bool:
    """Whether the program itself runs an op of these at a site, not what it calls there."""
    return not isinstance(site.node, ast.Call) or called(site.node) in names


def around(node: ast.AST) -> Iterator[ast.AST]:
    """What a node stands in, innermost first."""
    while (node := getattr(node, "parent", None)) is not None:
        yield node


def bound_to(value: ast.expr) -> ast.expr | None:
    """What a statement binds to an expression of its: ``self.a`` of ``self.a, b = value, 2``."""
    parent = value.parent
    if isinstance(parent, ast.Assign):
        return parent.targets[0]
    if not isinstance(parent, ast.Tuple) or not isinstance(parent.parent, ast.Assign):
        return None
    target = parent.parent.targets[0]
    if not isinstance(target, ast.Tuple) or len(target.elts) != len(parent.elts):
        return None
    return target.elts[parent.elts.index(value)]


def operand(site: Site, number: int):
    """The node of an operand of the op at a site: of an operator, a method or a function."""
    node = site.node
    if isinstance(node, ast.BinOp):
        return (node.left, node.right)[number] if number < 2 else None
    if isinstance(node, ast.Compare):
        return (node.left, *node.comparators)[number]
    if isinstance(node, ast.Call):
        func = node.func
        if is_method(site):
            return func.value if number == 0 else at_place(node.args, number - 1)
        return at_place(node.args, number)
    if isinstance(node, ast.AugAssign):
        return (node.target, node.value)[number]
    return None


def dimension(call: ast.Call, *numbers: int) -> ast.expr | None:
    """Where a call says along which dimension: ``dim=``, or one of some numbers by place."""
    written = {str(number) for number in numbers}
    by_place = (a for a in call.args if ast.unparse(a) in written)
    return changes.keyword(call, "dim") or next(by_place, None)


def at_place(nodes: list, number: int):
    return nodes[number] if number < len(nodes) else None


def named_only(source: Source, name: str, method: str) -> ast.Expr | None:
    """A statement ``model.eval`` without parentheses, which does nothing."""
    for node in ast.walk(source.tree):
        is_named = isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute)
        if is_named and ast.unparse(node.value) == f"{name}.{method}":
            return node
    return None


def freezing(source: Source) -> tuple[ast.AST, ast.expr] | None:
    """(what freezes parameters in a file, whose): ``requires_grad`` set to False."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and node.args:
            target, name, value = node.func, "requires_grad_", node.args[0]
        elif isinstance(node, ast.Assign):
            target, name, value = node.targets[0], "requires_grad", node.value
        else:
            continue
        is_named = isinstance(target, ast.Attribute) and target.attr == name
        if is_named and ast.unparse(value) == "False":
            return node, target.value
    return None


def is_method(site: Site) -> bool:
    """Whether the call is ``tensor.name(...)`` and not ``torch.name(...)``."""
    return changes.is_tensor_method(site.source, site.node)


def built(module) -> tuple[Source, ast.Call] | None:
    """The user's innermost call that made a module, with its file."""
    spot = upstream.of_place(next(iter(_C._built(module)), None))
    return (spot.source, spot.node) if spot and isinstance(spot.node, ast.Call) else None


def made_by(site: Site, module) -> tuple[Source, ast.Call | None]:
    """The call that decided on an op: the one that made its module, else that of the op itself."""
    by_module = built(module) if module is not None else None
    return by_module if by_module is not None else (site.source, call_at(site))


def origin_node(thing):
    """(Source, node) of the expression that made a tensor or graph node, or None."""
    spot = upstream.of_place(_C._origin(thing))
    return (spot.source, spot.node) if spot is not None else None


def moved_after(source: Source, statement: ast.stmt, target: ast.stmt) -> Edit | None:
    """A later or earlier statement of the same block goes right behind another one."""
    return _moved(source, statement, target, after=True)


def moved_before(source: Source, statement: ast.stmt, target: ast.stmt) -> Edit | None:
    return _moved(source, statement, target, after=False)


@on_lines_of_their_own
def _moved(source, statement, target, after):
    """One edit of the lines from the one to the other; the statement takes the other's indent."""
    lines = source.lines
    by = len(source.indentation(target)) - len(source.indentation(statement))
    text = (
        source.reindented(statement.lineno, statement.end_lineno, by)
        if by
        else "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
    )
    first = min(statement.lineno, target.lineno)
    last = max(statement.end_lineno, target.end_lineno)
    out = []
    for number in range(first, last + 1):
        if number == target.lineno and not after:
            out.append(text)
        if not statement.lineno <= number <= statement.end_lineno:
            out.append(lines[number - 1])
        if number == target.end_lineno and after:
            out.append(text)
    return Edit(source.file, first, last, "\n".join(out))


def without_decorator(source: Source, decorator: ast.expr) -> Edit:
    return Edit(source.file, decorator.lineno, decorator.end_lineno, "")


def without_with(source: Source, block: ast.With) -> Edit:
    """The body of a ``with`` takes its place."""
    return _without_head(source, block, block.body)


@on_lines_of_their_own
def _without_head(source, block, body):
    first, last = body[0].lineno, block.end_lineno
    by = len(source.indentation(block)) - len(source.indentation(body[0]))
    return Edit(source.file, block.lineno, last, source.reindented(first, last, by))


def is_no_grad(source: Source, node: ast.expr) -> bool:
    """Whether an expression is ``torch.no_grad()`` or ``inference_mode()``, under any alias."""
    text = ast.unparse(node)
    return any(word in text for word in ("no_grad", "inference_mode")) or (
        "set_grad_enabled(False)" in text
    )


def no_grad_around(source: Source, node: ast.AST):
    """The ``with`` or decorator in a function that turns gradients off around a node, or None."""
    at = getattr(node, "parent", None)
    while at is not None:
        items = at.items if isinstance(at, ast.With) else ()
        if any(is_no_grad(source, item.context_expr) for item in items):
            return at
        if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return next((d for d in at.decorator_list if is_no_grad(source, d)), None)
        at = getattr(at, "parent", None)
    return None


def in_loop(site: Site) -> bool:
    """Whether a place stands in a loop of its function."""
    return site.statement is not None and bool(site.source.loops_around(site.statement))
