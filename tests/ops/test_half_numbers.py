"""Halves and one number: computed in float, the number rounded to the half first, as PyTorch 2.13
does; but for the number by which is multiplied or divided."""

import pytest

import rushlight as torch

ROUNDING = {
    "add": torch.add,
    "sub": torch.sub,
    "rsub": torch.rsub,
    "fmod": torch.fmod,
    "remainder": torch.remainder,
    "pow": lambda a, v: torch.pow(a.abs(), v),
    "base of pow": lambda a, v: torch.pow(v, a),
    "eq": torch.eq,
    "lt": torch.lt,
    "ge": torch.ge,
    "atan2": lambda a, v: torch.atan2(a, torch.as_tensor(v)),
    "hypot": lambda a, v: torch.hypot(a, torch.as_tensor(v)),
    "first of mul": lambda a, v: torch.as_tensor(v) * a,
    "first of div": lambda a, v: torch.as_tensor(v) / a,
    "alpha of add": lambda a, v: torch.add(a, a.flip(0), alpha=v),
    "alpha of sub": lambda a, v: torch.sub(a, a.flip(0), alpha=v),
    "hardshrink": lambda a, v: torch.nn.functional.hardshrink(a, v),
    "whole numbers": lambda a, v: a - torch.full((len(a),), int(v * 10_000)),
}
EXACT = {
    "mul": torch.mul,
    "div": torch.div,
    "mul of a tensor": lambda a, v: a * torch.as_tensor(v),
    "mul of one element": lambda a, v: a * torch.tensor([v]).to(torch.float64)[0],
    "div_": lambda a, v: a.clone().div_(v),
    "floor": lambda a, v: torch.div(a, v, rounding_mode="floor"),
}


def operands(dtype, value):
    torch.manual_seed(0)
    a = (torch.randn(512) * 2).to(dtype)
    a[:3] = torch.tensor(value).to(dtype)  # where comparisons tell
    return a


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("value", [0.1, 1.7, 3.3])
@pytest.mark.parametrize("name", ROUNDING)
def test_a_number_is_rounded_first(name, value, dtype):
    f, a = ROUNDING[name], operands(dtype, value)
    wanted, got = f(a.float(), float(torch.tensor(value).to(dtype))), f(a, value)
    if name == "whole numbers":
        wanted = a.float() - torch.full((512,), int(value * 10_000)).to(dtype).float()
    assert got.dtype == (torch.bool if wanted.dtype == torch.bool else dtype)
    assert torch.equal(got.nan_to_num(7.0), wanted.to(got.dtype).nan_to_num(7.0))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("value", [0.1, 1.7, 3.3])
@pytest.mark.parametrize("name", EXACT)
def test_a_factor_is_not_rounded(name, value, dtype):
    f, a = EXACT[name], operands(dtype, value)
    assert torch.equal(f(a, value), f(a.float(), value).to(dtype))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_the_next_number_is_the_dtypes_own(dtype):
    bits = torch.int32 if dtype == torch.float32 else torch.int16
    a = torch.tensor([1.0, -1.0, 1.5, -0.001, 7.0], dtype=dtype)
    up = torch.nextafter(a, torch.tensor(float("inf"), dtype=dtype))
    steps = up.view(bits) - a.view(bits)
    assert up.dtype == dtype and steps.tolist() == [1, -1, 1, -1, 1]
    assert torch.equal(torch.nextafter(up, a), a)
    least = torch.nextafter(torch.zeros(1, dtype=dtype), -a[:1])
    assert least < 0 and least.abs().view(bits).item() == 1
    assert torch.nextafter(a, a * float("nan")).isnan().all()


@pytest.mark.parametrize("n", [1, 15, 16, 17, 1000])
def test_powers_that_are_products(n):
    """bfloat16 rounds each product (as PyTorch's does), float16 the result alone."""
    x = torch.randn(n, dtype=torch.bfloat16)
    x[0] = float("nan")
    for power, expected in ((3, x * x * x), (-2, 1 / (x * x))):
        assert torch.equal(x.pow(power)[1:], expected[1:]) and x.pow(power)[0].isnan()
    y = torch.randn(n, dtype=torch.float16)
    assert torch.equal(y**3, (y.double() ** 3).half())
