"""Optimizers go on from states that PyTorch saved, and PyTorch's from ours, to 1e-12."""

import functools
import io
import math

import pytest

pytest.importorskip("rushlight._C", reason="the core is not built")
import rushlight as torch

from . import states

TOLERANCE = 1e-12


@functools.cache
def recorded():
    return torch.load(states.THEIRS)


@functools.cache
def own():
    """Our states, saved and loaded again."""
    file = io.BytesIO()
    torch.save(states.made(torch), file)
    file.seek(0)
    return torch.load(file)


def assert_same(got, expected, path=""):
    assert type(got) is type(expected), (path, got, expected)
    if isinstance(expected, dict):
        assert list(got) == list(expected), path
        for key in expected:
            assert_same(got[key], expected[key], f"{path}/{key}")
    elif isinstance(expected, (list, tuple)):
        assert len(got) == len(expected), path
        for k, pair in enumerate(zip(got, expected, strict=True)):
            assert_same(*pair, f"{path}/{k}")
    elif isinstance(expected, torch.Tensor):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape), path
        assert torch.allclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE), (path, got, expected)
    elif isinstance(expected, float):
        assert math.isclose(got, expected, rel_tol=TOLERANCE), (path, got, expected)
    else:
        assert got == expected, (path, got, expected)


@pytest.mark.parametrize("name", states.CASES)
def test_states_are_those_of_pytorch(name):
    assert_same(own()[name], recorded()["states"][name])


@pytest.mark.parametrize("name", states.CASES)
def test_goes_on_from_a_state_of_pytorch(name):
    saved = recorded()["states"][name]
    after = states.continued(torch, {name: saved})
    assert_same(after[name], recorded()["after"][name])


@pytest.mark.parametrize("name", states.CASES)
def test_pytorch_goes_on_from_ours(name):
    """What PyTorch was given is what we save, and both go on to the same parameters."""
    given = torch.load(states.OURS)[name]
    assert_same(own()[name], given)
    after = states.continued(torch, {name: given})
    assert_same(after[name], recorded()["after_rushlight"][name])
