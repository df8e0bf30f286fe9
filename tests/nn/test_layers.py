"""Every layer of the table against what PyTorch recorded: repr, state, values, gradients."""

import warnings

import layers
import observe
import pytest

import rushlight as torch

ROWS = list(layers.rows())
IDS = [layer for layer, _ in ROWS]


# The gradients of their inputs cancel: what is left of float32 is rounding for the most part.
CANCELLING = (
    "LayerNorm(4,elementwise_affine=False)",
    "GroupNorm(2,4)",
    "GroupNorm(2,4,bias=False)",
    "GroupNorm(4,4,affine=False)",
)

# So do sums for some elements of their weights' gradients.
CANCELLING_SUMS = ("LazyConv2d(2,3,padding=1,padding_mode='replicate',dilation=2)",)


def _key(layer, inputs):
    return f"{layer} <- {', '.join(inputs)}"


@pytest.mark.parametrize(("layer", "inputs"), ROWS, ids=IDS)
def test_initial(layer, inputs, golden, agree):
    agree(observe.initial(torch, layer), golden["layers"][_key(layer, inputs)]["initial"])


@pytest.mark.parametrize(("layer", "inputs"), ROWS, ids=IDS)
def test_behaviour(layer, inputs, golden, agree):
    wanted = dict(golden["layers"][_key(layer, inputs)]["behaviour"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen = observe.behaviour(torch, layer, inputs)
        if layer in CANCELLING and len(wanted["input grads"]) == 1:
            _rounding(observe.behaviour(torch, layer, inputs, torch.float64), seen, wanted)
        if layer in CANCELLING_SUMS and wanted["parameter grads"]:
            _sums(observe.behaviour(torch, layer, inputs, torch.float64), seen, wanted)
    agree(seen, wanted)


def _rounding(exact, seen, wanted):
    """Takes the inputs' gradients off: ours must not be further from float64's than PyTorch's by
    more than half."""
    truth, ours, theirs = (r.pop("input grads")[0]["values"] for r in (exact, seen, wanted))
    errors = [max(abs(a - b) for a, b in zip(r, truth, strict=True)) for r in (ours, theirs)]
    assert errors[0] <= 1.5 * errors[1], f"error {errors[0]}, PyTorch's {errors[1]}"


def _sums(exact, seen, wanted):
    """Takes the weight's gradient off: ours is float64's within four units in the last place of
    the greatest, as sums of terms of its size are."""
    truth, ours, _ = (r["parameter grads"].pop(0)[1]["values"] for r in (exact, seen, wanted))
    bound = 4 * 2**-23 * max(map(abs, truth))
    assert all(abs(a - b) <= bound for a, b in zip(ours, truth, strict=True))


def test_every_row_is_recorded(golden):
    assert {_key(*row) for row in ROWS} == set(golden["layers"])
