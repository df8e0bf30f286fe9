"""torch.testing: messages as PyTorch's, gradcheck finds wrong gradients, make_tensor's ranges."""

import pytest

from . import assertions, golden
from .under_test import torch

pytestmark = pytest.mark.skipif(torch is None, reason="the module under test is not built")


def test_assert_close_says_what_pytorch_says():
    wanted = golden.load("assert_close")["rows"]["assert_close"]
    got = assertions.answers(torch, torch.testing.assert_close)
    assert len(got) == len(wanted)
    for (actual, expected, options), text, answer in zip(
        assertions.pairs(torch), got, wanted, strict=True
    ):
        assert text == answer, (actual, expected, options)


def scaled_wrongly(factor):
    """Doubles its input; its backward multiplies by another factor."""

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * factor

    return Doubled.apply


def sample(dtype, *shape):
    flat = [0.3 + 0.45 * k for k in range(6)]
    x = torch.tensor(flat[: 2 if shape == (2,) else 6], dtype=dtype).reshape(list(shape))
    return x.requires_grad_()


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradcheck_passes_right_and_finds_wrong_gradients(dtype, fast_mode):
    x = sample(getattr(torch, dtype), 2, 3)
    assert torch.autograd.gradcheck(lambda v: v * v.exp(), (x,), fast_mode=fast_mode)
    assert torch.autograd.gradgradcheck(lambda v: v * v.exp(), (x,), fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(scaled_wrongly(3), (x,), fast_mode=fast_mode)
    assert not torch.autograd.gradcheck(
        scaled_wrongly(3), (x,), fast_mode=fast_mode, raise_exception=False
    )
    assert torch.autograd.gradcheck(scaled_wrongly(2), (x,), fast_mode=fast_mode)


def test_gradcheck_wants_an_input_that_requires_grad():
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        torch.autograd.gradcheck(torch.sin, (torch.zeros(2, dtype=torch.float64),))


def test_gradcheck_refuses_overlapping_inputs():
    x = sample(torch.float64, 2)[:1].expand(3)
    with pytest.raises(RuntimeError, match="0th input has a dimension with stride 0"):
        torch.autograd.gradcheck(torch.sin, (x,))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int64", "uint8"])
def test_make_tensor_keeps_its_range(dtype):
    element = getattr(torch, dtype)
    made = torch.testing.make_tensor(4, 5, dtype=element, device="cpu", low=2, high=5)
    assert made.shape == (4, 5) and made.dtype == element
    parts = torch.view_as_real(made) if element.is_complex else made
    assert all(2 <= x <= 5 for x in parts.reshape([-1]).tolist())


def test_make_tensor_refuses_what_cannot_be():
    make = torch.testing.make_tensor
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        make(2, dtype=torch.float32, device="cpu", low=3, high=2)
    with pytest.raises(ValueError, match="is not supported for boolean and integral dtypes"):
        make(2, dtype=torch.int64, device="cpu", requires_grad=True)
