"""Random streams: after manual_seed, the numbers recorded from PyTorch."""

import importlib
import json
import lzma
import math
import os
from pathlib import Path

import pytest
from random_programs import BY_C_LIBRARY, PROGRAMS, run

MODULE = os.environ.get("RUSHLIGHT_TEST_MODULE", "rushlight")
pytest.importorskip(f"{MODULE}._C", reason="the core is not built")
torch = importlib.import_module(MODULE)

RECORDED = Path(__file__).parents[1] / "golden" / "random" / "streams.json.xz"
EPSILON = {"float32": 2**-23, "complex64": 2**-23, "float64": 2**-52, "complex128": 2**-52,
           "float16": 2**-10, "bfloat16": 2**-7}


@pytest.fixture(scope="module")
def recorded():
    return json.loads(lzma.decompress(RECORDED.read_bytes()))["programs"]


def _close(a, b, epsilon):
    if isinstance(a, list):
        return len(a) == len(b) and all(_close(x, y, epsilon) for x, y in zip(a, b, strict=True))
    return a == b or math.isclose(a, b, rel_tol=2 * epsilon)


def _same(name, got, expected):
    if not (isinstance(expected, dict) and "elements" in expected and isinstance(got, dict)
            and "elements" in got and name.startswith(BY_C_LIBRARY)):
        return got == expected
    epsilon = EPSILON.get(expected["dtype"], 0)
    return (got["dtype"], got["shape"]) == (expected["dtype"], expected["shape"]) and _close(
        got["elements"], expected["elements"], epsilon)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_stream(name, recorded):
    expected = json.loads(json.dumps(recorded[name]))
    got = json.loads(json.dumps(run(torch, name)))
    expressions = PROGRAMS[name][1]
    assert expected["expressions"] == expressions, "recorded for another program: record anew"
    for expression, g, e in zip(expressions, got["outcomes"], expected["outcomes"], strict=True):
        assert _same(name, g, e), f"{expression}\n  got      {g}\n  recorded {e}"
    assert got["state"] == expected["state"], "the generator's state at the end"


def test_a_system_seed_differs_every_time():
    first = torch.seed()
    assert torch.initial_seed() == first
    assert torch.seed() != first


def test_fork_rng_gives_the_stream_back():
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.rand(5)
    after = torch.rand(3)
    torch.manual_seed(3)
    assert torch.equal(after, torch.rand(3))
