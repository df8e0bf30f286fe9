"""Every layer of the table against what PyTorch recorded: repr, state, values, gradients."""

import warnings

import layers
import observe
import pytest

import rushlight as torch

ROWS = list(layers.rows())
IDS = [layer for layer, _ in ROWS]


def _key(layer, inputs):
    return f"{layer} <- {', '.join(inputs)}"


@pytest.mark.parametrize(("layer", "inputs"), ROWS, ids=IDS)
def test_initial(layer, inputs, golden, agree):
    agree(observe.initial(torch, layer), golden["layers"][_key(layer, inputs)]["initial"])


@pytest.mark.parametrize(("layer", "inputs"), ROWS, ids=IDS)
def test_behaviour(layer, inputs, golden, agree):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen = observe.behaviour(torch, layer, inputs)
    agree(seen, golden["layers"][_key(layer, inputs)]["behaviour"])


def test_every_row_is_recorded(golden):
    assert {_key(*row) for row in ROWS} == set(golden["layers"])
