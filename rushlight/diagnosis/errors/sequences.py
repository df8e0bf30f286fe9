"""Errors of sequences: without an embedding, padded with time first, of different lengths."""

from __future__ import annotations

import ast

from .. import changes, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised

kind(
    "embedding-missing",
    "Token numbers reach a layer that wants vectors",
    """
A recurrent layer reads vectors, (length, features) or (batch, length, features). Token numbers
become vectors by nn.Embedding(vocabulary, features) before it; features is the layer's input_size,
and the vocabulary's size is one more than the largest number that can come.
""",
)


@explains(ValueError, r"^(LSTM|GRU|RNN): Expected input to be 2D or 3D, got 1D instead")
def one_dimension(raised: Raised):
    """An embedding in front of the layer."""
    at, layer = raised.innermost, raised.layer
    given = upstream.inner(raised.error, "input")
    spot = upstream.of_module(layer)
    if not values.is_tensor(given) or given.is_floating_point() or spot is None:
        return None
    parts = upstream.operands(at)
    argument = next((p for p in parts if at.value(p, None) is given), None)
    built = spot.statement
    target = built.targets[0] if isinstance(built, ast.Assign) else None
    target = target.elts[0] if isinstance(target, ast.Tuple) else target
    fixes = []
    if argument is not None and isinstance(target, (ast.Name, ast.Attribute)):
        holder = f"{spot.source.segment(target.value)}." if hasattr(target, "value") else ""
        nn = ast.unparse(spot.node.func).rpartition(".")[0]
        rows = int(given.max()) + 1
        line = f"{holder}embedding = {nn + '.' if nn else ''}Embedding({rows}, {layer.input_size})"
        name = f"{'self.' if holder else ''}embedding({at.source.segment(argument)})"
        edits = [spot.source.insert_before(built, line), at.source.replace((argument, name))]
        fixes = [Fix(f"{line}; more rows where larger numbers can come", edits)]
    return raised.finding(
        "embedding-missing",
        f"{raised.match[1]} got {len(given)} token numbers, and reads vectors",
        spot.place,
        evidence=[
            f"input is {values.describe(given)}, made at {values.made_at(given) or '?'}",
            f"the layer reads vectors of input_size {layer.input_size}",
        ],
        related=at.related("the call that failed"),
        fixes=fixes,
    )


def padded_time_first(raised: Raised, given: int, wanted: int):
    """``pad_sequence(parts)`` without batch_first: as many predictions as the longest is long."""
    at = raised.innermost
    for spot in upstream.calls(upstream.user_sources(raised), "pad_sequence"):
        if changes.keyword(spot.node, "batch_first") is not None or not spot.node.args:
            continue
        function = spot.source.function_of(spot.node)
        inside = (f for f in reversed(raised.frames) if f.source is spot.source and f.node)
        running = next((f for f in inside if f.source.function_of(f.node) is function), None)
        held = upstream.value(running, spot.node.args[0]) if running is not None else None
        if not isinstance(held, (list, tuple)) or len(held) != wanted:
            continue
        if max(map(len, held)) != given:
            continue
        text = changes.with_keyword(spot.source, spot.node, "batch_first", "True")
        return raised.finding(
            "batch-first",
            "the sequences are padded with time first, and read with the batch first",
            spot.place,
            evidence=[
                f"{given} predictions for {wanted} targets",
                f"{spot.source.segment(spot.node.args[0])} has {wanted} parts, up to {given} long",
            ],
            related=at.related("the loss that got them"),
            fixes=[spot.fix(text, "batch_first=True")],
        )
    return None


kind(
    "ragged-list",
    "A list of lists with different lengths is no tensor",
    """
A tensor has one size in each dimension. Sequences of different lengths are filled up to the longest
(nn.utils.rnn.pad_sequence, with the lengths kept for a mask), or stay a list of tensors.
""",
)


@explains(ValueError, r"expected sequence of length (\d+) at dim (\d+) \(got (\d+)\)")
def ragged(raised: Raised):
    """The rows as tensors, padded."""
    at, call = raised.innermost, raised.innermost.node
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    rows = upstream.value(at, given) if given is not None else None
    if not isinstance(rows, (list, tuple)) or not all(isinstance(r, (list, tuple)) for r in rows):
        return None
    if any(row is rows for row in rows):  # no padding would help
        return None
    lengths = sorted({len(r) for r in rows})
    torch, text = changes.torch_name(at.source), at.source.segment(given)
    each = changes.with_part(at.source, call, given, "row")
    padded = f"{torch}.nn.utils.rnn.pad_sequence([{each} for row in {text}], batch_first=True)"
    return raised.finding(
        "ragged-list",
        f"the {len(rows)} rows of {text} have different lengths",
        evidence=[f"lengths are {', '.join(map(str, lengths[:8]))}"],
        fixes=[at.source.fix(call, padded, "padded with 0", call=padded)],
    )


kind(
    "list-with-none",
    "None stands in a list of tensors",
    """
cat and stack take tensors. A None in the list is a first value that was appended before anything
was computed, or what a function without return gave.
""",
)


@explains(TypeError, r"expected Tensor as element (\d+) in argument 0, but got NoneType")
def with_none(raised: Raised):
    """The list without it, where others are there."""
    at, call = raised.innermost, raised.innermost.node
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    held = upstream.value(at, given) if given is not None else None
    if not isinstance(held, (list, tuple)) or not any(values.is_tensor(v) for v in held):
        return None
    count, text = sum(v is None for v in held), at.source.segment(given)
    new = f"[part for part in {text} if part is not None]"
    return raised.finding(
        "list-with-none",
        f"{text} holds None",
        evidence=[f"{count} of its {len(held)} parts are None, the first at {raised.match[1]}"],
        fixes=[at.source.fix(given, new)],
    )
