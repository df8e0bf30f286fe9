"""Sums, means, extremes and other reductions, over all or some dimensions."""

from .spec import WIDE, Family, call, const, fail, i, m, t

row = Family(__name__)
A, B = t(2, 3, 4), t(3, 4)
DISTINCT = t(3, 4, distinct=True)
NAN = float("nan")
HOLED = t(2, 3, values=[1, NAN, 2, NAN, -3, 4])

DIMS = [
    call(B),
    call(t()),
    call(A, 1),
    call(A, -1, True),
    call(B, dim=0, keepdim=True),
    call(t(3), 0),
    call(t(), 0),
    call(t(0, 3), 0),
    call(t(2, 0), dim=0),
    call(t(40, 3), 0),
    call(t(2, 70), 1),
]
SEVERAL = [call(A, (0, 2)), call(A, (0, 2), keepdim=True), call(A, ())]
FAILS = [fail(), fail(B, 2), fail(B, -3), fail(2.0), fail(B, "a")]

row(
    "sum",
    [
        *DIMS,
        *SEVERAL,
        call(t(0)),
        call(B, dtype=const("float64")),
        call(B, 1, dtype=const("int64")),
        call(B, None),
    ],
    [*FAILS, fail(A, (0, 0)), fail(B, 0, out=1)],
)
row(
    "mean",
    [
        *DIMS[:7],
        *SEVERAL,
        call(t(40, 3), 0),
        call(B, dtype=const("float64")),
        call(t(0)),
        call(t(0, 3), 0),
    ],
    [*FAILS, fail(t(3, dtype="int64")), fail(A, (0, 0))],
)
row(
    "nansum",
    [call(B), call(A, 1), call(A, (0, 2), True), call(HOLED, 1, only=WIDE), call(t(0))],
    [fail(B, 2)],
)
row(
    "nanmean",
    [
        call(B),
        call(A, 1),
        call(A, (0, 2), True),
        call(HOLED, 1, only=WIDE),
        call(HOLED, 0, only=WIDE),
    ],
    [fail(B, 2)],
)
row(
    "prod",
    [
        call(B),
        call(t()),
        call(A, 1),
        call(B, -1, True),
        call(t(0)),
        call(t(0, 3), 0),
        call(t(values=[1, 0, 2, 3])),
        call(t(values=[0, 0, 2])),
        call(B, dtype=const("float64")),
        call(t(2, 3, values=[0, 1, 2, 3, 4, 5]), 1),
    ],
    FAILS[:3],
)
row(
    "amax",
    [
        call(B),
        call(A, 1),
        call(A, (0, 2), True),
        call(t(), 0),
        call(t(values=[2, 2, 1])),
        call(A, ()),
        call(HOLED, only=WIDE),
    ],
    [fail(t(0)), fail(B, 2), fail(t(0, 3), 0), fail(A, (0, 0))],
)
row(
    "amin",
    [call(B), call(A, 1), call(A, (0, 2), True), call(t(), 0), call(t(values=[2, 2, 1]))],
    [fail(t(0)), fail(B, 2), fail(t(0, 3), 0)],
)
row(
    "aminmax",
    [call(B), call(A, dim=1), call(B, dim=0, keepdim=True), call(t())],
    [fail(t(0)), fail(B, dim=2)],
)
for name in ("max", "min"):
    row(
        name,
        [
            call(B),
            call(t()),
            call(DISTINCT, 1),
            call(A, 1),
            call(DISTINCT, 0, True),
            call(B, t(3, 4)),
            call(B, t(4)),
            call(t(3, dtype="int32"), t(3)),
            call(t(), 0),
            call(t(0, 3), 1),
            call(t(values=[1, 1, 1])),
            call(t(values=[2, 1, 2, 1]), 0),
            call(HOLED, only=WIDE),
            call(HOLED, 1, only=WIDE),
            call(B, dim=-1),
            call(t(3, 40, distinct=True), 1),
        ],
        [fail(t(0)), fail(B, 2), fail(t(0, 3), 0), fail(B, t(5)), fail(B, 0, 0, 0), fail(B, "a")],
    )
for name in ("argmax", "argmin"):
    row(
        name,
        [
            call(DISTINCT),
            call(A, 1),
            call(DISTINCT, -1, True),
            call(t()),
            call(t(values=[2, 1, 2, 1])),
            call(HOLED, only=WIDE),
            call(HOLED, 1, only=WIDE),
            call(t(0, 3), 1),
            call(t(3, 40, distinct=True), 1),
        ],
        [fail(t(0)), fail(B, 2), fail(t(0, 3), 0)],
    )
for name in ("any", "all"):
    row(
        name,
        [
            call(B),
            call(m(3, 4)),
            call(m(3, 4), 1),
            call(m(2, 3, 4), (0, 2), True),
            call(t(0)),
            call(t()),
            call(t(values=[0, 0])),
            call(m(0, 3), 0),
            call(B, 0, True),
        ],
        [fail(B, 2), fail()],
    )
row(
    "count_nonzero",
    [call(B), call(A, 1), call(t(values=[0, 1, 0, 2])), call(A, (0, 2)), call(t(0))],
    [fail(B, 2)],
)
row(
    "var",
    [
        call(B),
        call(A, 1),
        call(A, (0, 2), keepdim=True),
        call(B, unbiased=False),
        call(B, 1, correction=0),
        call(B, 0, False),
        call(B, correction=2),
        call(t(1)),
        call(t(40, 3), 0),
        call(t(0)),
    ],
    [fail(t(3, dtype="int64")), fail(B, 2)],
)
row(
    "std",
    [
        call(B),
        call(A, 1),
        call(A, (0, 2), keepdim=True),
        call(B, unbiased=False),
        call(B, 1, correction=0),
        call(t(40, 3), 0),
        call(t(1)),
    ],
    [fail(t(3, dtype="int64")), fail(B, 2)],
)
row(
    "var_mean",
    [call(B), call(A, 1), call(A, (0, 2), keepdim=True), call(B, 1, correction=0)],
    [fail(B, 2)],
)
row("std_mean", [call(B), call(A, 1), call(B, 1, correction=0, keepdim=True)], [fail(B, 2)])
row(
    "logsumexp",
    [
        call(B, 1),
        call(A, (0, 2), True),
        call(t(), 0),
        call(t(values=[-float("inf"), 1]), 0, only=WIDE),
        call(t(values=[-float("inf")] * 2), 0, only=WIDE),
        call(t(2, 0), 0),
    ],
    [fail(B, 2), fail(B)],
)
row("special.logsumexp", [call(B, 1)], [])
row(
    "median",
    [
        call(t(5, distinct=True)),
        call(t(3, 5, distinct=True), 1),
        call(t(4, distinct=True)),
        call(t()),
        call(t(3, 4, distinct=True), 0, True),
        call(HOLED, 1, only=WIDE),
    ],
    [fail(t(0, 3), 0), fail(B, 2)],
)
row(
    "nanmedian",
    [call(t(5, distinct=True)), call(t(3, 5, distinct=True), 1), call(HOLED, 1, only=WIDE)],
    [fail(B, 2)],
)
row(
    "mode",
    [call(t(values=[1, 2, 2, 3])), call(t(3, 5), 1), call(t(3, 4), 0, True)],
    [fail(B, 2), fail(t(0))],
)
row(
    "quantile",
    [
        call(t(5, distinct=True), 0.3),
        call(t(3, 5, distinct=True), t(values=[0.25, 0.5], grad=False), 1),
        call(t(3, 5, distinct=True), 0.6, 0, True),
        call(t(5, distinct=True), 0.3, interpolation="nearest"),
        call(t(5, distinct=True), 0.3, interpolation="lower"),
        call(t(5, distinct=True), 0.3, interpolation="higher"),
        call(t(5, distinct=True), 0.3, interpolation="midpoint"),
    ],
    [fail(t(3), 2.0), fail(t(3), 0.5, interpolation="x"), fail(t(0), 0.5)],
    dtypes=(*WIDE, "float16", "int64"),
)
row(
    "nanquantile",
    [call(t(5, distinct=True), 0.3), call(HOLED, 0.4, 1, only=WIDE)],
    [fail(t(3), 2.0)],
    dtypes=(*WIDE, "float16", "int64"),
)
for norm in ("norm", "linalg.norm"):
    row(
        norm,
        [
            call(B),
            call(t(5)),
            call(t(5), 1),
            call(t(5), 3),
            call(t(5), float("inf")),
            call(t(5), 0),
            call(B, "fro"),
            call(B, 2, dim=1),
            call(A, "fro", (1, 2)),
            call(B, 1, 0, True),
            call(t()),
        ],
        [fail(B, "bad"), fail(B, 2, 5)],
    )
row(
    "linalg.vector_norm",
    [
        call(t(5)),
        call(B),
        call(B, 1),
        call(B, 3.5, 1),
        call(B, float("inf"), (0, 1), True),
        call(B, -float("inf")),
        call(B, 0),
        call(t()),
        call(B, dtype=const("float64"), only=("float32",)),
        call(t(0)),
    ],
    [fail(t(0), float("inf")), fail(B, 2, 2)],
)
row(
    "linalg.matrix_norm",
    [
        call(B),
        call(A, "fro"),
        call(B, 1),
        call(B, float("inf")),
        call(B, -1),
        call(A, "fro", (0, 1)),
        call(B, 2),
        call(B, "nuc"),
    ],
    [fail(t(3)), fail(B, "x"), fail(B, 3)],
    rtol={"float32": 1e-5, "complex64": 1e-5},
)
row("frobenius_norm", [call(B, (1,)), call(A, (0, 2), True)], [])
row("nuclear_norm", [call(B)], [], rtol={"float32": 1e-5})
row("trace", [call(B), call(t(3, 3)), call(t(0, 3))], [fail(A), fail(t(3))])
row(
    "renorm", [call(B, 2, 0, 1.5), call(A, 1, 1, 2.0)], [fail(B, -1, 0, 1.0), fail(t(3), 2, 0, 1.0)]
)
row(
    "bincount",
    [
        call(i(6, bound=4)),
        call(i(6, bound=4), minlength=6),
        call(i(4, bound=3), t(4)),
        call(i(0, bound=2)),
    ],
    [
        fail(t(3, dtype="float32")),
        fail(t(values=[-1], dtype="int64")),
        fail(i(3, bound=2), t(2)),
        fail(i(2, 2, bound=2)),
    ],
)
row(
    "histc",
    [call(t(8)), call(t(8), 4, -2, 2), call(t(8), bins=3)],
    [fail(t(3), 0), fail(t(3), 4, 3, 1)],
)
row(
    "histogram",
    [
        call(t(8, grad=False), 4),
        call(t(8, grad=False), 3, range=(-2.0, 2.0)),
        call(t(8, grad=False), t(values=[-2, 0, 1], grad=False)),
    ],
    [fail(t(3), 0)],
    dtypes=WIDE,
)
row(
    "cov",
    [call(B), call(t(4)), call(B, correction=0), call(B, fweights=i(4, bound=3, low=1))],
    [fail(A)],
)
row("corrcoef", [call(t(3, 5)), call(t(4))], [fail(A)], atol={"float32": 4e-6})
