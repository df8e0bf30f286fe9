"""A second backward through a graph that was freed: what two losses share, what was made once."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from rushlight import _C

from .. import changes, frames, graphs, upstream, values
from ..blocks import block_of
from ..finding import Fix, Related
from ..registry import explains, kind
from ..source import value_of
from . import Raised
from .carried import backward_of, carried, receiver, root_of

kind(
    "backward-twice",
    "Two losses share a part of the graph, and the first backward freed it",
    """
Two losses computed from one encoder's output share the encoder's graph. Add them and call backward
once: the gradients are the same, with one pass. Where both passes have to be separate, the first
needs retain_graph=True, and its saved values live longer. Where the second loss must not train the
shared part (a discriminator's loss and its generator), detach there. Calling backward() twice on
one loss needs retain_graph=True, or is a mistake.
""",
)


@dataclass
class _Freed:
    """What a second backward ran into: the freed node, and the lines that have to do with it."""

    root: object  # the tensor that backward was called on
    node: object
    by: upstream.Spot
    made: upstream.Spot | None
    entered: upstream.Spot | None  # where the graph of this backward runs into the freed part


@explains(RuntimeError, r"Trying to backward through the graph a second time")
def twice(raised: Raised):
    """Which nodes were freed, by which line, and where this graph runs into them."""
    at, root = raised.innermost, root_of(raised)
    node = graphs.asked_again(root) if root is not None else None
    by = upstream.of_place(_C._freed_by(node)) if node is not None else None
    if by is None:
        return None
    made, ways = upstream.of_place(_C._origin(node)), graphs.ways_into(root, node)
    spots = [upstream.of_place(_C._origin(way)) for way, _ in ways]
    entered = next((spot for spot in spots if spot is not None), None)
    freed = _Freed(root, node, by, made, entered)
    evidence = [f"{node.name()} of {made.named} has lost what it had saved"] if made else []
    evidence.append(f"freed by {by.named}")
    if _is_loop(at, by) and entered is not None:
        finding = carried(raised, at, entered, evidence)
        if finding is not None:
            return finding
    once = _computed_once(raised, at, freed, evidence) or _too_far(raised, at, freed, evidence)
    return once or _shared(raised, at, freed, evidence)


def _is_loop(at, freed_by) -> bool:
    """Whether the backward that freed is this line, or one after it: the turn before ran it."""
    return freed_by.file == at.file and at.line <= freed_by.line


# ---- Two losses


def _without_sum(at) -> list[Fix]:
    """backward() of this turn's loss, where ``total = total + loss`` sums them up before it."""
    total = receiver(at.statement)
    if not isinstance(total, ast.Name):
        return []
    scope = at.source.function_of(at.statement)
    before = at.source.last_assignment(total.id, at.line, scope)
    value = getattr(before, "value", None)
    if isinstance(before, ast.AugAssign):
        other = before.value
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        sides = [s for s in (value.left, value.right) if ast.unparse(s) != total.id]
        other = sides[0] if len(sides) == 1 else None
    else:
        other = None
    if not isinstance(other, ast.Name):
        return []
    detached = at.source.replace((other, f"{other.id}.detach()"))
    edits = [detached, at.source.replace((total, other.id))]
    return [Fix(f"{other.id}.backward(): the sum of all turns is for showing", edits)]


def _computed_once(raised: Raised, at, freed: _Freed, evidence):
    """A loss that is computed before the loop whose every turn goes back through it."""
    source, loops = at.source, at.loops
    spots = [s for s in (freed.made, upstream.of_tensor(freed.root)) if s is not None]
    if not loops or not spots or freed.by.place != (at.file, at.line):
        return None
    block = block_of(loops[-1])
    before = block[: block.index(loops[-1])]
    moved = {s.statement for s in spots if s.statement in before}
    if not moved or any(s.statement.lineno >= loops[0].lineno for s in spots):
        return None
    if not all(isinstance(s, ast.Assign) for s in moved):
        return None
    todo = list(moved)
    while todo:  # what they read of other results that require grad
        statement = todo.pop()
        for name in [n for n in ast.walk(value_of(statement)) if isinstance(n, ast.Name)]:
            held = at.value(name, None)
            if values.is_tensor(held) and held.grad_fn is not None:
                scope = source.function_of(name)
                earlier = source.last_assignment(name.id, statement.lineno, scope)
                if earlier in before and earlier not in moved:
                    moved.add(earlier)
                    todo.append(earlier)
    ordered = sorted(moved, key=lambda s: s.lineno)
    if not all(isinstance(s, ast.Assign) for s in ordered):
        return None
    begin = loops[0].body[0]
    text = "\n".join(source.segment(s) for s in ordered)
    edits = [*(source.remove(s) for s in ordered), source.insert_before(begin, text)]
    lines = " and ".join(str(s.lineno) for s in ordered)
    return raised.finding(
        "backward-twice",
        "the loss is computed once, before the loop whose turns all go back through it",
        (at.file, ordered[0].lineno),
        evidence=[*evidence, f"line {lines} runs once, backward() in each turn"],
        related=at.related("the second backward"),
        fixes=[Fix(f"line {lines} into the loop, anew in each turn", edits)],
    )


def _shared(raised: Raised, at, freed: _Freed, evidence):
    """Two losses that go back through one part: their sum, a graph that is kept, or a cut."""
    first, second = freed.by.statement, at.statement
    related = at.related("the second backward")
    if freed.made is not None:
        related.append(Related(freed.made.file, freed.made.line, "the part that both use"))
    fixes = _without_sum(at)
    if first in block_of(second) and first.lineno < second.lineno:
        fixes += _summed(at, first, second)
    if not _is_loop(at, freed.by) or not _made_in_turn(at, freed.made):
        fixes += _retained(freed.by)
    if freed.entered is not None:
        fixes += _cut(freed.entered, freed.made)
    if len(fixes) > 1:
        evidence = [*evidence, "the fixes differ in what the shared part learns from"]
    title = f"line {freed.by.line} freed the part of the graph that both losses use"
    if freed.by.place == (at.file, at.line) and freed.entered is None:
        title = f"backward() was called again on what line {freed.by.line} has been through"
    return raised.finding(
        "backward-twice", title, freed.by.place, evidence=evidence, related=related, fixes=fixes
    )


def _too_far(raised: Raised, at, freed: _Freed, evidence):
    """A GAN's first loss goes back through the generator, whose step comes with the second."""
    first, second, source = freed.by.statement, at.statement, at.source
    a, b = backward_of(first), backward_of(second)
    if freed.by.file != at.file or a is None or b is None:
        return None
    spot = _read_apart(at, freed.node, a.func.value, b.func.value)
    if spot is None:
        return None
    scope, behind = source.function_of(second), graphs.leaves(at.value(spot.node, None))
    for call in ast.walk(scope or source.tree):
        holder = frames.receiver(call)
        if upstream.called(call) != "step" or holder is None:
            continue
        if not _position(a) < _position(call) < _position(b):
            continue
        held = {id(p) for p in values.parameters_of(at.value(holder, None))}
        if held and not any(id(leaf) in held for leaf in behind):
            break
    else:
        return None
    text, name = f"{spot.text}.detach()", source.segment(holder)
    none = f"{name} steps between the two, and holds none of the {len(behind)} parameters behind"
    return raised.finding(
        "backward-twice",
        f"line {freed.by.line} goes back through {spot.text}, which line {at.line} still needs",
        spot.place,
        evidence=[*evidence, f"{none} {spot.text}"],
        related=[
            Related(freed.by.file, freed.by.line, "freed it"),
            *at.related("the second backward"),
        ],
        fixes=[
            source.fix(spot.node, text, f"{text} in the first loss"),
            *_retained(freed.by),
        ],
    )


def _position(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _read_apart(at, freed, first: ast.expr, second: ast.expr):
    """Where what leads to the first loss alone reads a tensor that leads to both, before it."""
    source, scope = at.source, at.source.function_of(first)
    alone, other = source.leading_to(first), source.leading_to(second)
    shared = [s for s in alone if s in other]
    parts = [first, *(value_of(s) for s in alone if s not in shared)]
    for part in sorted(parts, key=_position):
        for node in ast.walk(part):
            if not isinstance(node, ast.Name):
                continue
            held = at.value(node, None)
            if not values.is_tensor(held) or held.grad_fn is None:
                continue
            bound = source.last_assignment(node.id, part.lineno, scope)
            if bound in shared and any(n == freed for n in graphs.nodes(held)):
                return upstream.Spot(source, node)
    return None


def _made_in_turn(at, made) -> bool:
    """Whether what was freed is made anew in each turn: to retain it would only pile up."""
    inside = made is not None and made.file == at.file
    return inside and any(loop.lineno <= made.line <= loop.end_lineno for loop in at.loops)


def _summed(at, first: ast.stmt, second: ast.stmt) -> list[Fix]:
    """One backward of the sum, in place of both; nothing that uses gradients may lie between."""
    a, b = receiver(first), receiver(second)
    if a is None or b is None or ast.unparse(a) == ast.unparse(b):
        return []
    block = block_of(second)
    between = block[block.index(first) + 1 : block.index(second)]
    if any(upstream.called(n) in ("step", "zero_grad") for s in between for n in ast.walk(s)):
        return []
    text = f"({at.source.segment(a)} + {at.source.segment(b)}).backward()"
    edits = [at.source.remove(first), at.source.replace((second, text))]
    return [Fix(f"{text}: the same gradients in one pass", edits)]


def _retained(freed_by) -> list[Fix]:
    if upstream.called(freed_by.node) not in ("backward", "grad"):
        return []
    text = changes.with_keyword(freed_by.source, freed_by.node, "retain_graph", "True")
    edit = freed_by.source.replace((freed_by.node, text))
    return [Fix(f"{text}: its saved values live longer", [edit])]


def _cut(entered, made) -> list[Fix]:
    """The second loss reads the shared value detached."""
    names = made.statement if made is not None else None
    targets = set()
    if isinstance(names, ast.Assign):
        targets = {n.id for t in names.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    for node in ast.walk(entered.node):
        if isinstance(node, ast.Name) and node.id in targets:
            text = f"{node.id}.detach()"
            shown = changes.with_part(entered.source, entered.node, node, text)
            shown = shown if len(shown) < 50 else text
            said = f"{shown}: the shared part learns from the first loss alone"
            return [entered.source.fix(node, text, said)]
    return []
