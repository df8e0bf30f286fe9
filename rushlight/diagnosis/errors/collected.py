"""Lists that grow from step to step, and bring the graphs of the steps before along."""

from __future__ import annotations

import ast

from .. import frames, upstream, values
from ..blocks import block_of
from ..finding import Fix
from ..source import value_of
from . import Raised


def collected(raised: Raised, at, entered, evidence):
    """A list that gets more in each turn, and backward of all of it."""
    receiver = frames.receiver(at.node)
    appended = {
        frames.last_name(spot.node.func.value)
        for spot in upstream.calls(upstream.user_sources(raised), "append")
        if isinstance(spot.node.func, ast.Attribute)
    }
    for node in ast.walk(receiver) if receiver is not None else ():
        if isinstance(node, ast.Name) and _is_growing(at.value(node, None), node, appended):
            number = len(at.value(node, None))
            text = f"{node.id}[-1]"
            return raised.finding(
                "graph-carried-over",
                f"{node.id} still holds the losses of the steps before",
                evidence=[*evidence, f"{node.id} holds {number} losses, one more in each turn"],
                fixes=[at.source.fix(receiver, text, f"{text}.backward()")],
            )
    source = entered.source
    for part in [entered.node, *map(value_of, source.leading_to(entered.node))]:
        for node in ast.walk(part):
            if isinstance(getattr(node, "ctx", None), ast.Load):
                held = upstream.current(raised, upstream.Spot(source, node))
                if _is_growing(held, node, appended):
                    return _never_emptied(raised, at, source, node, held, appended, evidence)
    return None


def _is_growing(held, node: ast.AST, appended: set) -> bool:
    """Whether a value is a list of results that the program appends to."""
    return (
        isinstance(held, list)
        and frames.last_name(node) in appended
        and all(values.is_tensor(t) for t in held)
        and any(t.grad_fn is not None for t in held)
    )


def _never_emptied(raised: Raised, at, source, node, held, appended, evidence):
    """Every list that grew as long as this one begins anew in each turn."""
    if isinstance(node, ast.Attribute):
        before, room = f"{source.segment(node.value)}.", _room_of(raised, source, node.value)
    else:
        before, room = "", next(f for f in reversed(raised.frames) if f.file == source.file).names
    names = [
        f"{before}{name}"
        for name, value in room.items()
        if name in appended and isinstance(value, list) and len(value) == len(held)
    ]
    moved, loop = _bound_before(source, at, names)
    if moved:
        text = "\n".join(source.segment(s) for s in moved)
        edits = [*(source.remove(s) for s in moved), source.insert_before(loop.body[0], text)]
        lines = " and ".join(str(s.lineno) for s in moved)
        place, fix = (source.file, moved[0].lineno), Fix(f"line {lines} into the loop", edits)
    else:
        block = block_of(at.statement)
        text = "\n".join(f"{name}.clear()" for name in names)
        leaves = isinstance(block[-1], (ast.Return, ast.Continue, ast.Break))
        insert = at.source.insert_before if leaves else at.source.insert_after
        place = (source.file, node.lineno)
        fix = Fix("emptied when the step is done", [insert(block[-1], text)])
    return raised.finding(
        "graph-carried-over",
        f"{source.segment(node)} still holds what the turns before put into it",
        place,
        evidence=[*evidence, f"it holds {len(held)} tensors, more after each turn"],
        related=at.related("the second backward"),
        fixes=[fix],
    )


def _room_of(raised: Raised, source, node: ast.AST) -> dict:
    return values.attributes(upstream.current(raised, upstream.Spot(source, node)))


def _bound_before(source, at, names: list[str]):
    """The statements before the innermost loop around backward that made the lists, and it."""
    loops = at.source.loops_around(at.statement)
    if at.source is not source or not loops:
        return [], None
    scope = source.function_of(at.statement)
    bound = [source.last_assignment(name, loops[0].lineno, scope) for name in names]
    if not all(isinstance(s, ast.Assign) and _is_empty(s.value) for s in bound):
        return [], None
    return sorted(set(bound), key=lambda s: s.lineno), loops[0]


def _is_empty(value: ast.AST) -> bool:
    """Whether an expression makes empty lists and nothing else."""
    if isinstance(value, ast.Tuple):
        return all(_is_empty(part) for part in value.elts)
    return ast.unparse(value) in ("[]", "list()")
