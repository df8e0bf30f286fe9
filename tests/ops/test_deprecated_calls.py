"""Orders of arguments that PyTorch deprecates and still reads, and what it says of calls that fit
no overload."""

import subprocess
import sys

import pytest

import rushlight as torch

X, Y = torch.ones(2, 2), torch.full((2, 2), 3.0)
V, B = torch.ones(2), torch.ones(1, 2, 2)


@pytest.mark.filterwarnings("ignore:This overload")
@pytest.mark.parametrize(
    "old, plain",
    [
        (lambda: torch.add(X, 2, Y), lambda: torch.add(X, Y, alpha=2)),
        (lambda: X.clone().add_(2, Y), lambda: torch.add(X, Y, alpha=2)),
        (lambda: X.sub(2, Y), lambda: torch.sub(X, Y, alpha=2)),
        (lambda: torch.addmm(2, X, Y, Y), lambda: torch.addmm(X, Y, Y, beta=2)),
        (lambda: torch.addmm(2, X, 3, Y, Y), lambda: torch.addmm(X, Y, Y, beta=2, alpha=3)),
        (lambda: X.addmm(2, 3, Y, Y), lambda: torch.addmm(X, Y, Y, beta=2, alpha=3)),
        (lambda: X.clone().addmm_(2, Y, Y), lambda: torch.addmm(X, Y, Y, beta=2)),
        (lambda: torch.addcmul(X, 2, Y, Y), lambda: torch.addcmul(X, Y, Y, value=2)),
        (lambda: X.clone().addcdiv_(2, Y, Y), lambda: torch.addcdiv(X, Y, Y, value=2)),
        (lambda: torch.addmv(2, V, X, V), lambda: torch.addmv(V, X, V, beta=2)),
        (lambda: torch.addr(2, X, 3, V, V), lambda: torch.addr(X, V, V, beta=2, alpha=3)),
        (lambda: torch.baddbmm(2, B, B, B), lambda: torch.baddbmm(B, B, B, beta=2)),
        (lambda: X.addbmm(2, B, B), lambda: torch.addbmm(X, B, B, beta=2)),
        (lambda: torch.add(X, 2, Y, out=torch.empty(0)), lambda: torch.add(X, Y, alpha=2)),
    ],
)
def test_old_orders(old, plain):
    assert old().equal(plain())


def test_warns_once():
    program = (
        "import warnings; warnings.simplefilter('always'); import rushlight as torch\n"
        "x = torch.ones(2)\nfor _ in range(2): x.add(2, x)\n"
    )
    said = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True
    ).stderr
    assert said.count("This overload of add is deprecated") == 1
    assert "add(Tensor other, *, Number alpha = 1)" in said


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: torch.true_divide(X), "(Tensor), but expected one of:\n * (Tensor input, Tensor"),
        (lambda: torch.remainder(X), " * (Number self, Tensor other)"),
        (lambda: torch.max(X, 0, 0, 0), "takes from 2 to 3 positional arguments but 4 were given"),
        (lambda: torch.relu(X, 1), "relu() takes 1 positional argument but 2 were given"),
        (lambda: X.add(), "got (), but expected (Tensor other, *, Number alpha = 1)"),
        (lambda: torch.nn.Sequential(torch.nn.Linear), "torch.nn.modules.linear.Linear is not a"),
        (lambda: torch.einsum("a,b", torch.float32, V), "but got torch.dtype"),
        (lambda: torch.cat(torch.nn.Parameter(V)), "tuple of Tensors, not Parameter"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(TypeError) as caught:
        call()
    assert words in str(caught.value)


def test_none_is_a_stride():
    x = torch.rand(1, 1, 4, 4)
    F = torch.nn.functional
    assert F.avg_pool2d(x, 2, None).equal(F.avg_pool2d(x, 2))
    assert torch.max_pool2d(x, 2, stride=None).equal(F.max_pool2d(x, 2))
    assert torch.avg_pool1d(x[0], 2, stride=None).equal(F.avg_pool1d(x[0], 2))
