"""Sorting, the k largest, searching and unique values."""

from .spec import REAL, WIDE, Family, call, fail, t

row = Family(__name__, exact=True)
B = t(3, 4, distinct=True)
TIES = t(values=[2, 1, 2, 1, 3, 1])
NANS = call(t(values=[1, float("nan"), -float("inf"), 3, float("nan")]), only=WIDE)
FAILS = [fail(B, 2), fail(2)]

row(
    "sort",
    [
        call(B),
        call(B, 0),
        call(B, 1, True),
        call(TIES, stable=True),
        call(TIES, stable=True, descending=True),
        NANS,
        call(t()),
        call(t(0)),
        call(t(2, 40, distinct=True)),
        call(B, descending=True),
    ],
    FAILS,
)
row(
    "argsort",
    [call(B), call(B, 0), call(B, 1, True), call(TIES, stable=True), NANS, call(t())],
    FAILS,
)
row("msort", [call(B), call(t(5, distinct=True))], [])
row(
    "topk",
    [
        call(B, 2),
        call(B, 2, 0),
        call(B, 3, largest=False),
        call(t(), 1),
        call(B, 0),
        call(B, 4),
        call(t(2, 40, distinct=True), 5),
        call(t(4, distinct=True), 2, 0, True, True),
    ],
    [fail(B, 5), fail(B, -1), fail(B, 2, 2), fail(B)],
)
row(
    "kthvalue",
    [call(B, 2), call(B, 1, 0), call(B, 3, -1, True), call(t(), 1)],
    [fail(B, 5), fail(B, 0), fail(B, 1, 2)],
)
row(
    "unique",
    [
        call(TIES),
        call(TIES, return_inverse=True),
        call(TIES, return_counts=True),
        call(TIES, return_inverse=True, return_counts=True),
        call(t(2, 3), sorted=True),
        call(t(0)),
        call(t()),
        call(t(3, 2, values=[1, 2, 0, 1, 1, 2]), dim=0),
        call(t(3, 2, values=[1, 2, 0, 1, 1, 2]), return_inverse=True, return_counts=True, dim=0),
        call(t(2, 3, values=[1, 2, 1, 0, 5, 0]), dim=1),
    ],
    [fail(t(2), dim=1)],
)
row(
    "unique_consecutive",
    [
        call(t(values=[1, 1, 2, 2, 1])),
        call(t(values=[1, 1, 2]), return_inverse=True),
        call(t(values=[1, 1, 2, 2, 1]), return_counts=True),
        call(t(3, 2, values=[1, 2, 1, 2, 0, 1]), dim=0),
        call(t(0)),
    ],
    [fail(t(2), dim=1)],
)
EDGES = t(values=[1, 3, 3, 5, 7])
row(
    "searchsorted",
    [
        call(EDGES, t(4)),
        call(EDGES, t(values=[3, 0, 8]), right=True),
        call(EDGES, 3),
        call(EDGES, 3.5),
        call(t(2, 3, values=[1, 2, 3, 2, 4, 6]), t(2, 2)),
        call(EDGES, t(2), out_int32=True),
        call(EDGES, t(2), side="right"),
        call(t(values=[5, 1, 3]), t(2), sorter=t(values=[1, 2, 0], dtype="int64")),
    ],
    [
        fail(t(2, 3), t(3, 2)),
        fail(t(), t(2)),
        fail(EDGES, t(2), side="middle"),
        fail(EDGES, t(2), right=True, side="left"),
    ],
    dtypes=REAL,
)
row(
    "bucketize",
    [
        call(t(2, 3), EDGES),
        call(3, EDGES),
        call(t(4), EDGES, right=True),
        call(t(4), EDGES, out_int32=True),
    ],
    [fail(t(3), t(2, 2))],
    dtypes=REAL,
)
