"""Sums, differences, products and quotients that begin with a Python number."""

import pytest

import rushlight as torch


@pytest.mark.parametrize("call, value, dtype", [
    ("add(7, 2)", 9, "int64"), ("add(7.5, 2)", 9.5, "float32"), ("sub(7, 2)", 5, "int64"),
    ("mul(True, False)", False, "bool"), ("div(7, 2)", 3.5, "float32"),
    ("divide(7, 2)", 3.5, "float32"), ("true_divide(7, 2)", 3.5, "float32"),
    ("multiply(3, 2)", 6, "int64"), ("subtract(7, 2.5)", 4.5, "float32"),
    ("floor_divide(7, 2)", 3, "int64"), ("div(7, 2, rounding_mode='floor')", 3, "int64"),
    ("div(-7.5, 2, rounding_mode='trunc')", -3, "float32"), ("add(1, 2, alpha=3)", 7, "int64"),
    ("add(1, 2j)", 1 + 2j, "complex64"), ("add(input=1, other=2)", 3, "int64"),
])  # fmt: skip
def test_two_numbers(call, value, dtype):
    result = eval(f"torch.{call}", {"torch": torch})
    assert result.item() == value and result.dtype is getattr(torch, dtype) and result.dim() == 0


def test_a_number_and_a_tensor():
    x = torch.tensor([1, 2, 4], dtype=torch.int32)
    assert torch.mul(2, x).tolist() == [2, 4, 8] and torch.mul(2, x).dtype is torch.int32
    assert torch.div(1, x).tolist() == [1, 0.5, 0.25]
    assert torch.sub(1.5, x).dtype is torch.float32
    half = torch.ones(2, dtype=torch.bfloat16)
    assert torch.add(1.0, half, alpha=2).dtype is torch.bfloat16
    out = torch.empty(3)
    assert torch.add(1, x, out=out) is out and out.tolist() == [2, 3, 5]


def test_gradients_of_the_tensor():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for op, expected in ((torch.mul, 3), (torch.sub, -1), (torch.add, 1)):
        (grad,) = torch.autograd.grad(op(3, x).sum(), x)
        assert grad.tolist() == [expected, expected]
    (grad,) = torch.autograd.grad(torch.div(4, x).sum(), x)
    assert grad.tolist() == [-4, -1]
    assert torch.vmap(lambda t: torch.mul(2, t))(torch.ones(3)).tolist() == [2, 2, 2]


def test_others_want_a_tensor_first():
    for call in (lambda: torch.maximum(2, 3), lambda: torch.sin(2.0), lambda: torch.eq(2, 3),
                 lambda: torch.add("a", torch.ones(1))):  # fmt: skip
        with pytest.raises(TypeError, match=r"must be Tensor, not|invalid combination"):
            call()
