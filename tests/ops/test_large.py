"""Results that overflow the last cache are written past it: the same values wherever they lie."""
import pytest

from .under_test import torch

N = 9_000_001  # three float32 operands: more than twice the last cache


def parts(op, *operands):
    """The op on pieces that are small enough for plain stores."""
    step = 1_000_003
    return torch.cat([op(*(t[i:i + step] for t in operands)) for i in range(0, N, step)])


@pytest.fixture(scope="module")
def numbers():
    torch.manual_seed(0)
    return torch.randn(N + 3), torch.randn(N + 3)


CALLS = {
    "add": lambda a, b: a + b,
    "number": lambda a, b: a * 3,
    "where": lambda a, b: torch.where(a > 0, a, b),
    "comparison": lambda a, b: a < b,
    "mixed": lambda a, b: a + b.double(),
    "clone": lambda a, b: a.clone(),
    "float64": lambda a, b: a.double(),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("begin", (0, 3))
def test_same_values(name, begin, numbers):
    a, b = (t[begin:begin + N] for t in numbers)
    assert torch.equal(CALLS[name](a, b), parts(CALLS[name], a, b))


def test_into_a_view_and_in_place(numbers):
    a, b = (t[1:1 + N] for t in numbers)
    out = torch.full((N + 2,), 7.)
    torch.add(a, b, out=out[1:-1])
    assert torch.equal(out[1:-1], parts(torch.add, a, b)) and out[0] == out[-1] == 7
    before = a.clone()
    a.add_(b)
    assert torch.equal(a, parts(torch.add, before, b))
    a.copy_(before)
    assert torch.equal(a, before)


def test_gather():
    torch.manual_seed(0)
    x, index = torch.randn(2300, 2300), torch.randint(0, 2300, (2300, 2300))
    rows = [x[i:i + 100].gather(1, index[i:i + 100]) for i in range(0, 2300, 100)]
    assert torch.equal(x.gather(1, index), torch.cat(rows))
    index[2200, 7] = 2300
    with pytest.raises(RuntimeError, match="index 2300 is out of bounds for dimension 1"):
        x.gather(1, index)
