"""A recurrent layer's first state: for another batch, or for another number of layers."""

from __future__ import annotations

import ast

from .. import changes, construction, upstream, values
from ..finding import Fix
from ..registry import explains
from . import Raised


@explains(RuntimeError, r"Expected hidden(?:\[\d\])? size \(([\d, ]+)\), got \[([\d, ]+)\]")
def hidden(raised: Raised):
    """A layer that takes time for the batch; a state for other layers; one for another batch."""
    layer, given = raised.layer, upstream.inner(raised.error, "input")
    wanted, have = (tuple(int(n) for n in raised.match[i].split(",")) for i in (1, 2))
    batch = 0 if getattr(layer, "batch_first", False) else 1
    evidence = [f"the state is {have}; layers, batch and size are {wanted}"]
    if values.is_tensor(given):
        side = "batch_first" if batch == 0 else "time first"
        size = given.shape[batch]
        evidence.append(f"input {values.shape_of(given)}, read with {side}: batch {size}")
    state = upstream.inner(raised.error, "hx")
    made = upstream.of_tensor(state[0] if isinstance(state, tuple) else state)
    if made is not None and not isinstance(made.node, ast.Call):
        made = None
    return (
        _time_for_batch(raised, layer, given, have, batch, evidence)
        or _other_layers(raised, layer, made, have, wanted, evidence)
        or _other_batch(raised, made, have, wanted, batch, evidence)
    )


def _time_for_batch(raised: Raised, layer, given, have, batch: int, evidence):
    """The state is for the dimension that the layer reads as time."""
    spot = upstream.of_module(layer)
    if spot is None or not values.is_tensor(given) or given.dim() != 3:
        return None
    if given.shape[1 - batch] != have[-2]:
        return None
    text = changes.with_keyword(spot.source, spot.node, "batch_first", str(batch == 1))
    return raised.finding(
        "batch-first",
        f"the layer reads dimension {batch} as batch; the state says the other",
        spot.place,
        evidence=evidence,
        fixes=[spot.fix(text)],
        related=raised.innermost.related("the call that failed"),
    )


def _other_layers(raised: Raised, layer, made, have, wanted, evidence):
    """A first state with fewer layers (or directions) than the module has: where it was made."""
    differ = [d for d in range(len(have)) if have[d] != wanted[d]]
    sizes = made.node.args if made is not None else []
    if sizes and isinstance(sizes[0], (ast.Tuple, ast.List)):
        sizes = sizes[0].elts
    if differ != [0] or len(sizes) != len(have):
        return None
    at, text = raised.innermost, str(wanted[0])
    both = getattr(layer, "bidirectional", False)
    counted = getattr(layer, "num_layers", 0) * (2 if both else 1) == wanted[0]
    if counted and isinstance(at.node, ast.Call) and made.file == at.file:
        text = f"{at.source.segment(at.node.func)}.num_layers" + (" * 2" if both else "")
    return raised.finding(
        "layer-width",
        f"the first state is for {have[0]} layers, the module has {wanted[0]}",
        made.place,
        evidence=evidence,
        fixes=[made.fix_part(sizes[0], text)],
        related=at.related("the call that failed"),
    )


def _other_batch(raised: Raised, made, have, wanted, batch: int, evidence):
    """A state for another number of samples: the last batch is smaller, or one was changed."""
    at = raised.innermost
    state = upstream.inner(raised.error, "hx")
    fixes = _of_the_input(at, made, have, wanted, batch)
    asked = None if fixes or not _is_zero(state) else _asked_for(raised, made, have, wanted)
    if asked is not None:
        made, number = asked
        fixes = [made.fix_part(number, str(wanted[-2]))]
    fixes = fixes or _zeros_left_out(at, state)
    return raised.finding(
        "layer-width",
        f"a state of {have}, wanted is {wanted}",
        made.place if made is not None and fixes else at,
        evidence=evidence,
        fixes=fixes,
        related=at.related("the call that failed"),
    )


def _of_the_input(at, made, have, wanted, batch: int) -> list[Fix]:
    """The number of samples in the call that made the state: the input's own."""
    if made is None or wanted[-2] == have[-2]:
        return []
    numbers = [
        n
        for n in ast.walk(made.node)
        if isinstance(n, ast.Constant) and type(n.value) is int and n.value == have[-2]
    ]
    if len(numbers) != 1:
        return []
    argument = at.node.args[0] if isinstance(at.node, ast.Call) and at.node.args else None
    if made.file == at.file and made.line <= at.line and isinstance(argument, ast.Name):
        return [made.source.fix(numbers[0], f"{argument.id}.size({batch})")]
    return [made.source.fix(numbers[0], str(wanted[-2]), f"batch {wanted[-2]}")]


def _asked_for(raised: Raised, made, have, wanted):
    """``model.init_hidden(8)``: (the call, its 8) of the function that made a fresh state."""
    function = made.source.function_of(made.node) if made is not None else None
    if function is None or wanted[-2] == have[-2]:
        return None
    names = {n.id for n in ast.walk(made.node) if isinstance(n, ast.Name)}
    for at in reversed(raised.frames):
        calls = upstream.calls([at.source], function.name)
        for spot in sorted(calls, key=lambda c: -c.line):
            if spot.line > at.line or made.source.class_of(spot.node) is not None:
                continue
            for name in names.intersection(construction.parameters(function)):
                place = construction.place_of(function, name)
                given = construction.argument(spot.node, place, name)
                if isinstance(given, ast.Constant) and given.value == have[-2]:
                    return spot, given
            return None
    return None


def _is_zero(state) -> bool:
    """Whether a state is one to begin with, which no call has changed."""
    parts = state if isinstance(state, tuple) else (state,)
    if not all(map(values.is_tensor, parts)):
        return False
    return not any(bool((p.detach() != 0).any()) for p in parts)


def _zeros_left_out(at, state) -> list[Fix]:
    """A state of zeros is what the module begins with itself: for the batch that it gets."""
    call = at.node
    if not isinstance(call, ast.Call) or not _is_zero(state):
        return []
    if len(call.args) != 2 or call.keywords:
        return []
    function = at.source.function_of(call)
    names = construction.parameters(function) if function is not None else []
    if ast.unparse(call.args[1]) in names:
        return []  # the caller's: a state that is carried on comes the same way
    text = changes.call_text(at.source, call, None, [at.source.segment(call.args[0])])
    return [at.source.fix(call, text, f"{text}: it begins with zeros itself")]
