"""Names of events, compared with those that PyTorch recorded for the same programs."""

import json

import pytest

import rushlight as torch

from .programs import GOLDEN, outermost, programs

EXPECTED = json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_names(name):
    assert outermost(torch, programs(torch)[name]) == EXPECTED[name]
