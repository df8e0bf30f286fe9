"""Plain pickles of functions, generators and dtypes, with and without a module named torch."""

import copy
import io
import pickle
import subprocess
import sys

import pytest

import rushlight as torch

FUNCTIONS = """
add linalg.norm linalg.svd linalg.vector_norm special.expit special.gammaln special.log_softmax
fft.fft fft.fftfreq fft.rfft2 nn.functional.relu nn.functional.gelu nn.functional.linear
Tensor.add Tensor.view norm unique segment_reduce
""".split()


def _named(name):
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_functions(name, protocol):
    function = _named(name)
    assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert copy.deepcopy(function) is function


@pytest.mark.parametrize("name", FUNCTIONS)
def test_saved_functions(name):
    buffer = io.BytesIO()
    torch.save(_named(name), buffer)
    buffer.seek(0)
    assert torch.load(buffer, weights_only=False) is _named(name)


@pytest.mark.parametrize("copied", [
    copy.deepcopy,
    lambda g: pickle.loads(pickle.dumps(g)),
    lambda g: torch.load(_saved(g), weights_only=False),
])  # fmt: skip
def test_a_generator_goes_on_where_it_was(copied):
    generator = torch.Generator().manual_seed(3)
    torch.randn(5, generator=generator)
    twin = copied(generator)
    assert twin.initial_seed() == 3
    for draw in (torch.rand, torch.randn):
        assert draw(20, generator=generator).equal(draw(20, generator=twin))
    torch.rand(1, generator=twin)
    assert not torch.rand(1, generator=generator).equal(torch.rand(1, generator=twin))


def _saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return buffer


PROGRAM = """
import pickle, sys
import rushlight as torch
assert "torch" not in sys.modules
values = [torch.linalg.norm, torch.special.erf, torch.fft.fft, torch.float32, torch.Size([2])]
assert pickle.loads(pickle.dumps(values)) == values
generator = pickle.loads(pickle.dumps(torch.Generator().manual_seed(1)))
assert torch.rand(3, generator=generator).equal(torch.rand(3, generator=generator.manual_seed(1)))
"""


def test_without_a_module_named_torch():
    subprocess.run([sys.executable, "-P", "-c", PROGRAM], check=True)
