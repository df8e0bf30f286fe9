"""A bool may lie in memory as any byte: what is not 0 is true, as 1 is."""

import pytest

from .under_test import torch

F = torch.nn.functional
BYTES = (torch.arange(200) * 37 % 5).to(torch.uint8)
OTHERS = (torch.arange(200) * 11 % 3).to(torch.uint8)
LAYOUTS = {
    "dense": lambda t: t,
    "strided": lambda t: t[::2],
    "rows": lambda t: t.view(20, 10),
    "columns": lambda t: t.view(20, 10).t(),
}
# Each of a mask, another mask and numbers of its shape.
CALLS = {
    "not": lambda a, b, x: ~a,
    "and": lambda a, b, x: a & b,
    "or": lambda a, b, x: a | b,
    "xor": lambda a, b, x: a ^ b,
    "add": lambda a, b, x: a + b,
    "multiply": lambda a, b, x: a * b,
    "equal": lambda a, b, x: a == b,
    "less": lambda a, b, x: a < b,
    "maximum": lambda a, b, x: torch.maximum(a, b),
    "numbers": lambda a, b, x: x * a + b,
    "any": lambda a, b, x: (a.any(), a.any(0), a.all(), a.all(0)),
    "any of one kind": lambda a, b, x: (a[a].any(), (~a).any(), a[a].all()),
    "running": lambda a, b, x: (*a.cummax(0), *a.cummin(-1)),
    "mode": lambda a, b, x: tuple(a.mode(-1)),
    "sum": lambda a, b, x: (a.sum(), a.sum(0), a.count_nonzero(), a.prod(), a.cumsum(0)),
    "extremes": lambda a, b, x: (a.max(), a.min(), a.amax(0), a.amin(-1), a.max(0).values),
    "sort": lambda a, b, x: (a.sort(-1).values, torch.sort(a, stable=True).indices),
    "unique": lambda a, b, x: (
        torch.unique(a),
        torch.unique_consecutive(a),
        torch.unique(a, dim=0),
    ),
    "nonzero": lambda a, b, x: a.nonzero(),
    "index": lambda a, b, x: (x[a], x.masked_select(a), x.masked_fill(a, 2.0)),
    "put": lambda a, b, x: (
        x.masked_scatter(a, x),
        x.clone().index_put_((a,), torch.tensor(1.0)),
    ),
    "where": lambda a, b, x: torch.where(a, x, -x),
    "convert": lambda a, b, x: tuple(
        a.to(t)
        for t in (
            torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64,
            torch.int8, torch.int64, torch.uint8,
        )
    ),
    "index_add": lambda a, b, x: b.index_add(0, torch.zeros(len(a), dtype=torch.int64), a),
    "index_reduce": lambda a, b, x: x.scatter_reduce(
        0, torch.zeros_like(a, dtype=torch.int64), a.float(), "sum"
    ),
    "scatter": lambda a, b, x: torch.ones(a.numel(), dtype=torch.bool).scatter_reduce(
        0, torch.zeros(a.numel(), dtype=torch.int64), a.reshape(-1), "prod"
    ),
    "read": lambda a, b, x: torch.tensor([a.reshape(-1)[k].item() for k in range(9)] + [len(a)]),
    "list": lambda a, b, x: torch.tensor(a.tolist()),
    "fill": lambda a, b, x: x.clone().fill_(a.reshape(-1)[1]),
    "difference": lambda a, b, x: torch.diff(a),
}  # fmt: skip


def plain(result):
    return [r.resolve_conj() for r in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_a_byte_that_is_not_0_is_true(name, layout):
    place, call = LAYOUTS[layout], CALLS[name]
    a, b = (place(t.view(torch.bool)) for t in (BYTES, OTHERS))
    one, other = (place((t != 0).clone()) for t in (BYTES, OTHERS))
    x = torch.arange(float(a.numel())).reshape(a.shape)
    for got, expected in zip(plain(call(a, b, x)), plain(call(one, other, x)), strict=True):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        if got.dtype == torch.bool:
            got, expected = (torch.where(t, 1, 0) for t in (got, expected))
        assert torch.equal(got, expected)


def test_a_mask_of_attention():
    q = torch.rand(1, 1, 20, 8)
    mask = BYTES.view(torch.bool).view(20, 10).repeat(1, 2)
    expected = F.scaled_dot_product_attention(q, q, q, torch.where(mask, 1, 0).bool())
    assert torch.equal(F.scaled_dot_product_attention(q, q, q, mask), expected)
