"""Names of events, compared with those that PyTorch recorded for the same programs."""

import json

import pytest

import rushlight as torch

from .calls import GOLDEN as OF_CALLS_FILE
from .calls import ops_of, scope, without_nodes
from .programs import GOLDEN, outermost, programs

EXPECTED = json.loads(GOLDEN.read_text())
SCOPE = scope(torch)
OF_CALLS = json.loads(OF_CALLS_FILE.read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_names(name):
    assert outermost(torch, programs(torch)[name]) == EXPECTED[name]


# What one node does here takes several there (docs/why.md: profiles show what ran).
FUSED = ("lin(", "linear(", "rms(", "lstm(", "gru(", "rnn(", "cross_entropy(", "kl_div(", "einsum(")
FUSED += ("P(2, 3, 4) @ B", "P(2, 2, 3, 4) @", "cosine_similarity(")


@pytest.mark.parametrize("call", OF_CALLS)
def test_ops_and_nodes_of_calls(call):
    seen, expected = ops_of(torch, call, SCOPE), OF_CALLS[call]
    if any(part in call for part in FUSED):
        seen, expected = without_nodes(seen), without_nodes(expected)
    assert seen == expected
