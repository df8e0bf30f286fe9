"""Layers that were built for another width than they get: norms, recurrent layers, attention."""

from __future__ import annotations

from .. import construction, frames, upstream, values
from ..registry import explains, kind
from . import Raised

kind(
    "layer-width",
    "A layer was built for another width than it gets",
    """
Normalisation, recurrent and attention layers are built for one size: num_features,
normalized_shape, input_size, embed_dim. It has to be the input's own: dimension 1 for BatchNorm
and GroupNorm, the last one for the others.
""",
)


def wrong_number(raised: Raised, layer, id: str, argument: tuple, wanted: int, title, evidence):
    """A finding at the line where a number that a layer was built with was decided."""
    given = upstream.inner(raised.error, "input")
    sizes = tuple(given.shape) if values.is_tensor(given) else ()
    found = construction.number_changes(layer, *argument, wanted, sizes)
    return raised.number(id, title, found, "the call that failed", evidence)


def _built_for(raised: Raised, argument: str, was: str, have: int, said: str):
    """The failing layer's first argument, which has to be what it got."""
    layer = raised.layer
    if not hasattr(layer, argument):
        return None
    spot = upstream.of_module(layer)
    if spot is not None and frames.called(spot.node).startswith("Transformer"):
        argument = "d_model"  # of the layer that holds the attention
    title = f"{raised.path_of(layer)} was built for {was} and got {have}"
    return wrong_number(raised, layer, "layer-width", (0, argument), have, title, [said])


@explains(RuntimeError, r"running_mean should contain (\d+) elements not (\d+)")
def batch_norm(raised: Raised):
    """num_features of a BatchNorm."""
    have, given = int(raised.match[1]), upstream.inner(raised.error, "input")
    said = f"input {values.describe(given)}: {have} channels in dimension 1"
    return _built_for(raised, "num_features", f"{raised.match[2]} channels", have, said)


@explains(RuntimeError, r"Given normalized_shape=\[(\d+)\], expected input with shape \[\*, \d+\]")
def layer_norm(raised: Raised):
    """normalized_shape of a LayerNorm."""
    given = upstream.inner(raised.error, "input")
    if not values.is_tensor(given):
        return None
    have = given.shape[-1]
    said = f"input {values.describe(given)}: {have} in its last dimension"
    return _built_for(raised, "normalized_shape", f"{raised.match[1]} features", have, said)


@explains(
    (RuntimeError, ValueError),
    r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)",
)
def recurrent(raised: Raised):
    """input_size of an RNN, LSTM or GRU."""
    have, given = int(raised.match[2]), upstream.inner(raised.error, "input")
    shown = values.describe(given) if values.is_tensor(given) else f"(..., {have})"
    was = f"{raised.match[1]} features"
    return _built_for(raised, "input_size", was, have, f"input {shown}")


@explains(AssertionError, r"was expecting embedding dimension of (\d+), but got (\d+)")
def attention(raised: Raised):
    """embed_dim of a MultiheadAttention, d_model of a layer that holds one."""
    have = int(raised.match[2])
    said = f"the query's last dimension is {have}"
    return _built_for(raised, "embed_dim", f"width {raised.match[1]}", have, said)
