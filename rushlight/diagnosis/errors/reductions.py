"""Reductions over the wrong dimension, and views that take from the batch: seen a line later."""

from __future__ import annotations

import ast
import math

from .. import changes, frames, upstream, values
from ..registry import kind
from ..source import Source
from . import Raised

kind(
    "reduced-wrong-dimension",
    "A reduction took away another dimension than was meant",
    """
mean, sum, max and argmax take away the dimension that they are told, and the others move up:
argmax(0) of (N, C) scores gives one value for each class, argmax(1) one for each sample; mean(-1)
of (N, T, D) averages the features, mean(1) the time steps. Nothing raises there. The error comes
later, where the result meets a layer or tensor of the size that was expected. Name the dimension
that is to go, and look at the shape of what is left.
""",
)
kind(
    "view-takes-from-batch",
    "A view with -1 changes the size of the batch",
    """
x.view(-1, n) keeps the number of values and works out the first size from it. Where n is not the
number of values of one sample, the rows are pieces of samples and the batch has another size,
without an error: the layer or the loss after it fails. Keep the batch and let the features be
worked out: x.flatten(1), or x.view(x.size(0), -1).
""",
)

REDUCING = {
    "mean", "sum", "max", "min", "amax", "amin", "argmax", "argmin", "std", "var", "prod",
    "logsumexp", "median", "nanmean", "nansum",
}  # fmt: skip


def wrong_dimension(raised: Raised, tensor, fits):
    """A finding where a tensor was reduced, and over another dimension would have fitted.

    ``fits(shape)`` says whether a shape is what was needed.
    """
    spot = upstream.of_tensor(tensor)
    if spot is None or frames.called(spot.node) not in REDUCING:
        return None
    part, rest = receiver(spot.source, spot.node)
    node = changes.keyword(spot.node, "dim") or changes.keyword(spot.node, "axis")
    node = node or (rest[0] if rest else None)
    keep = changes.keyword(spot.node, "keepdim")
    dim, kept = _number(node), keep is not None and ast.unparse(keep) == "True"
    shape = shape_before(raised, tensor, spot, part)
    if dim is None or shape is None or not -len(shape) <= dim < len(shape):
        return None
    good = [d for d in range(len(shape)) if d != dim % len(shape) and fits(_less(shape, d, kept))]
    if not good:
        return None
    name, at = frames.called(spot.node), raised.innermost
    evidence = values.table(
        [
            (f"before {name}", str(shape), ""),
            (f"over {dim}", str(_less(shape, dim % len(shape), kept)), f"at line {spot.line}"),
            *((f"over {d}", str(_less(shape, d, kept)), "fits") for d in good),
        ]
    )
    return raised.finding(
        "reduced-wrong-dimension",
        f"{name} over dimension {dim} of {shape} leaves {_less(shape, dim % len(shape), kept)}",
        spot.place,
        evidence=evidence,
        related=at.related("the line that failed"),
        fixes=[spot.source.fix(node, str(d), f"dimension {d}") for d in good],
    )


def batch_lost(raised: Raised, given, features: int):
    """A finding where a view gave rows that are pieces of samples of so many features each."""
    spot = upstream.of_tensor(given)
    if spot is None or frames.called(spot.node) not in ("view", "reshape"):
        return None
    part, _ = receiver(spot.source, spot.node)
    shape = shape_before(raised, given, spot, part)
    if not shape or shape[0] == given.shape[0] or math.prod(shape[1:]) != features:
        return None
    at, text = raised.innermost, changes.method(spot.source, part, "flatten(1)")
    return raised.finding(
        "view-takes-from-batch",
        f"a batch of {shape[0]} became {given.shape[0]} rows",
        spot.place,
        evidence=[
            f"{shape} -> {values.shape_of(given)}",
            f"a sample has {' * '.join(map(str, shape[1:]))} = {features} values",
        ],
        related=at.related("the layer that got it"),
        fixes=[spot.fix(text)],
    )


def receiver(source: Source, call: ast.Call):
    """What a method or function of tensors works on, and the arguments after it."""
    if changes.is_tensor_method(source, call):
        return call.func.value, call.args
    return (call.args[0], call.args[1:]) if call.args else (None, [])


def shape_before(raised: Raised, tensor, spot, part) -> tuple | None:
    """The shape of what the op that made a tensor worked on: from the graph, else read again."""
    node = tensor.grad_fn
    edge = node.next_functions[0] if node is not None and node.next_functions else (None, 0)
    if edge[0] is not None:
        return tuple(edge[0]._input_metadata_of(edge[1])[0])
    if tensor._base is not None:
        return tuple(tensor._base.shape)
    statement = spot.statement
    bound = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and _is_stored(n)}
    if part is None or bound & {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}:
        return None
    function = spot.source.function_of(spot.node)
    for at in reversed(raised.frames):
        here = at.source is spot.source and at.node is not None
        if here and at.source.function_of(at.node) is function:
            before = upstream.value(at, part)
            return tuple(before.shape) if values.is_tensor(before) else None
    return None


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _number(node) -> int | None:
    try:
        found = ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
    return found if type(found) is int else None


def _less(shape: tuple, dim: int, keep: bool) -> tuple:
    return (*shape[:dim], *((1,) if keep else ()), *shape[dim + 1 :])
