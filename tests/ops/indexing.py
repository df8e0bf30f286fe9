"""Gather, scatter, take, put, mask and find."""

from .spec import WIDE, Family, call, fail, i, m, t

row = Family(__name__, exact=True)
A, B = t(2, 3, 4), t(3, 4)
I2 = i(2, bound=3)

row(
    "gather",
    [
        call(B, 0, i(2, 4, bound=3)),
        call(B, 1, i(3, 2, bound=4)),
        call(B, -1, i(2, 5, bound=4)),
        call(t(3), 0, i(5, bound=3)),
        call(t(), 0, i(bound=1)),
        call(B, 0, i(0, 4, bound=3)),
        call(B, 1, i(3, 2, bound=4), sparse_grad=False),
    ],
    [
        fail(B, 0, i(2, bound=3)),
        fail(B, 2, i(3, 2, bound=4)),
        fail(B, 1, i(4, 2, bound=4)),
        fail(B, 1, t(3, 1, values=[0, 9, 0], dtype="int64")),
        fail(B, 1, t(3, 2, dtype="float32")),
    ],
)
row(
    "take",
    [
        call(B, i(5, bound=12)),
        call(B, i(2, 2, bound=12)),
        call(B, t(values=[-1, -12], dtype="int64")),
        call(B, i(0, bound=1)),
    ],
    [
        fail(B, t(values=[12], dtype="int64")),
        fail(B, t(2, dtype="float32")),
        fail(t(0), i(2, bound=1)),
    ],
)
row(
    "take_along_dim",
    [call(B, i(3, 2, bound=4), 1), call(B, i(5, bound=12)), call(B, i(1, 4, bound=3), dim=0)],
    [fail(B, i(2, bound=3), 0), fail(B, t(3, 2, dtype="float32"), 1)],
)
row(
    "index_select",
    [
        call(B, 0, I2),
        call(B, 1, i(5, bound=4)),
        call(A, -1, I2),
        call(t(), 0, i(1, bound=1)),
        call(B, 0, i(0, bound=3)),
        call(B, 0, i(2, bound=3, dtype="int32")),
        call(B, 0, i(bound=3)),
    ],
    [
        fail(B, 2, I2),
        fail(B, 0, t(values=[3], dtype="int64")),
        fail(B, 0, i(2, 2, bound=3)),
        fail(B, 0, t(2, dtype="float32")),
    ],
)
row(
    "masked_select",
    [call(B, m(3, 4)), call(B, m(4)), call(t(), m()), call(t(0), m(0)), call(t(3, 1), m(3, 4))],
    [fail(B, m(5)), fail(B, t(3, 4, dtype="float32"))],
)
row(
    "masked_fill",
    [
        call(B, m(3, 4), 2),
        call(B, m(4), -1.5),
        call(B, m(3, 1), t()),
        call(t(3, 1), m(4), 1),
        call(t(), m(), 0),
    ],
    [
        fail(B, m(5), 1),
        fail(B, t(3, 4, dtype="float32"), 1),
        fail(B, m(4), t(2)),
        fail(B, m(4), "a"),
    ],
)
row(
    "masked_scatter",
    [call(B, m(3, 4), t(12)), call(B, m(4), t(3, 4)), call(t(3), m(3), t(3))],
    [fail(B, m(3, 4), t(1)), fail(B, m(5), t(12)), fail(B, t(3, 4, dtype="float32"), t(12))],
)
row(
    "index_fill",
    [
        call(B, 0, I2, 2),
        call(B, 1, i(2, bound=4), -1.5),
        call(B, 0, I2, t()),
        call(t(), 0, i(bound=1), 1),
    ],
    [fail(B, 2, I2, 1), fail(B, 0, I2, t(2)), fail(B, 0, t(values=[3], dtype="int64"), 1)],
)
row(
    "index_add",
    [
        call(B, 0, I2, t(2, 4)),
        call(B, 1, i(3, bound=4), t(3, 3)),
        call(B, 0, I2, t(2, 4), alpha=2),
        call(t(3), 0, i(4, bound=3), t(4)),
    ],
    [
        fail(B, 0, I2, t(3, 4)),
        fail(B, 0, I2, t(2, 3)),
        fail(B, 0, t(values=[0, 3], dtype="int64"), t(2, 4)),
        fail(B, 2, I2, t(2, 4)),
    ],
    exact=False,
)
row(
    "index_copy",
    [call(B, 0, t(values=[2, 0], dtype="int64"), t(2, 4)), call(t(3), 0, i(1, bound=3), t(1))],
    [
        fail(B, 0, I2, t(3, 4)),
        fail(B, 0, t(values=[0, 3], dtype="int64"), t(2, 4)),
        fail(B, 0, I2, t(2, 3)),
    ],
)
row(
    "index_reduce",
    [call(B, 0, I2, t(2, 4), r) for r in ("prod", "mean", "amax", "amin")]
    + [call(B, 0, I2, t(2, 4), "prod", include_self=False)],
    [fail(B, 0, I2, t(2, 4), "sum")],
    exact=False,
)
row(
    "scatter",
    [
        call(B, 0, i(2, 4, bound=3, seed=1), t(2, 4)),
        call(t(3, 5), 1, t(3, 2, values=[0, 4, 1, 2, 3, 0], dtype="int64"), t(3, 2)),
        call(B, 1, i(3, 2, bound=4), 1.5),
        call(B, 1, i(3, 2, bound=4), 2, reduce="add"),
        call(B, 1, i(3, 2, bound=4), 2, reduce="multiply"),
        call(t(3), 0, i(1, bound=3), t(1)),
        call(B, 0, i(0, 4, bound=3), t(2, 4)),
    ],
    [
        fail(B, 0, i(2, bound=3), t(2)),
        fail(B, 2, i(2, 4, bound=3), t(2, 4)),
        fail(B, 0, t(1, 1, values=[3], dtype="int64"), t(1, 1)),
        fail(B, 0, i(2, 5, bound=3), t(2, 5)),
        fail(B, 1, i(3, 2, bound=4), 2, reduce="sum"),
        fail(t(3), 0, i(2, bound=3), t(2, dtype="complex64")),
    ],
    gradcheck=False,
)
row(
    "scatter_add",
    [
        call(B, 0, i(2, 4, bound=3), t(2, 4)),
        call(B, 1, i(3, 6, bound=4), t(3, 6)),
        call(t(3), 0, i(5, bound=3), t(5)),
    ],
    [
        fail(B, 0, i(2, bound=3), t(2)),
        fail(B, 0, t(1, 1, values=[3], dtype="int64"), t(1, 1)),
        fail(B, 1, i(3, 6, bound=4), t(3, 5)),
    ],
    exact=False,
)
row(
    "scatter_reduce",
    [
        call(B, 1, i(3, 6, bound=4), t(3, 6, distinct=True), r)
        for r in ("sum", "prod", "mean", "amax", "amin")
    ]
    + [
        call(B, 1, i(3, 6, bound=4), t(3, 6, distinct=True), r, include_self=False)
        for r in ("sum", "prod", "mean", "amax", "amin")
    ],
    [
        fail(B, 1, i(3, 2, bound=4), t(3, 2), "largest"),
        fail(B, 1, i(3, 2, bound=4), t(3, 1), "sum"),
    ],
    exact=False,
)
row(
    "put",
    [
        call(B, t(values=[0, 5, 11], dtype="int64"), t(3)),
        call(B, t(values=[1, 1, -1], dtype="int64"), t(3), accumulate=True),
    ],
    [fail(B, t(values=[12], dtype="int64"), t(1)), fail(B, i(2, bound=12), t(3))],
    exact=False,
)
row(
    "Tensor.put_",
    [
        call(B, t(values=[0, 5, 11], dtype="int64"), t(3)),
        call(B, t(values=[1, 1, -1], dtype="int64"), t(3), True),
    ],
    [fail(B, t(values=[12], dtype="int64"), t(1))],
    exact=False,
    grad=False,
)
row(
    "index_put",
    [
        call(B, (t(values=[0, 2], dtype="int64"),), t(4)),
        call(B, (i(2, bound=3), i(2, bound=4)), t(2), True),
        call(B, (m(3, 4),), t()),
        call(B, (m(3),), t(4)),
        call(B, (i(5, bound=3), i(5, bound=4)), t(5), accumulate=True),
    ],
    [
        fail(B, (i(2, bound=3),), t(3)),
        fail(B, (t(values=[5], dtype="int64"),), t(4)),
        fail(B, (t(2, dtype="float32"),), t(4)),
        fail(B, (i(2, bound=3),), t(4, dtype="float64")),
    ],
    exact=False,
)
row(
    "Tensor.__setitem__",
    [
        call(B, 1, 2),
        call(B, (slice(None), 1), t(3)),
        call(B, m(3, 4), 0),
        call(B, m(3), t(4)),
        call(B, i(2, bound=3, seed=3), t(2, 4)),
        call(B, Ellipsis, t(4)),
        call(B, (0, 1), 2.5),
        call(B, None, t(3, 4)),
        call(B, slice(1, None), t(2, 4)),
    ],
    [
        fail(B, 3, 1),
        fail(B, 1, t(3)),
        fail(B, m(4), 0),
        fail(B, "a", 1),
        fail(B, 0, "a"),
        fail(B, (0, 0, 0), 1),
    ],
    grad=False,
)
row(
    "nonzero",
    [
        call(B),
        call(t(values=[0, 1, 0, 2])),
        call(m(3, 4)),
        call(t()),
        call(t(0)),
        call(B, as_tuple=True),
        call(t(values=[0, 0])),
    ],
    [fail(2)],
)
row(
    "nonzero_static",
    [call(t(values=[0, 1, 0, 2]), size=3), call(t(values=[0, 1, 0, 2]), size=1, fill_value=7)],
    [fail(t(3), size=-1)],
)
row("argwhere", [call(t(values=[0, 1, 0, 2])), call(m(3, 4)), call(t())], [fail(2)])
row(
    "unravel_index",
    [call(i(4, bound=12), (3, 4)), call(i(bound=12), (3, 4)), call(i(2, 2, bound=6), 6)],
    [fail(t(3, dtype="float32"), (3, 4)), fail(i(3, bound=5), (3, -4))],
    dtypes=WIDE,
)
row("tril_indices", [call(3, 4), call(3, 3, 1), call(4, 2, -1)], [fail(-1, 3)], dtypes=("float32",))
row("triu_indices", [call(3, 4), call(3, 3, 1), call(4, 2, -1)], [fail(-1, 3)], dtypes=("float32",))
row("Tensor.item", [call(t()), call(t(1, 1))], [fail(t(2)), fail(t(0))])
row("Tensor.tolist", [call(B), call(t()), call(t(2, 0))], [])
row("Tensor.__bool__", [call(t()), call(t(1))], [fail(t(2)), fail(t(0))])
row("Tensor.__int__", [call(t())], [fail(t(2))])
row("Tensor.__float__", [call(t())], [fail(t(2))])
row("Tensor.__complex__", [call(t())], [fail(t(2))])
row("Tensor.__index__", [call(t())], [fail(t(2))])
row(
    "Tensor.__contains__", [call(t(values=[1, 2]), 1), call(t(values=[1, 2]), 5)], [fail(t(2), "a")]
)
