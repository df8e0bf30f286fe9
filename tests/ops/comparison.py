"""Comparisons, logic and tests of numbers."""

from .spec import FRACTIONAL, Family, call, fail, i, m, t

row = Family(__name__, exact=True)
NAN, INF = float("nan"), float("inf")
SPECIAL = call(t(values=[NAN, INF, -INF, 0, 1.5]), only=FRACTIONAL)

CALLS = [
    call(t(3, 4), t(3, 4)),
    call(t(3, 4), t(4)),
    call(t(), t(1)),
    call(t(2, 0), t(1)),
    call(t(values=[1, 2, 3]), t(values=[1, 3, 2])),
    call(t(3), 1),
    call(t(3), 0.5),
    call(t(3), t(dtype="float64")),
]
FAILS = [fail(t(3), t(4)), fail(t(3)), fail(t(3), None)]

for name, other in (
    ("eq", ""),
    ("ne", "not_equal"),
    ("lt", "less"),
    ("le", "less_equal"),
    ("gt", "greater"),
    ("ge", "greater_equal"),
):
    row(name, CALLS, FAILS, promotion=True, alias=[other] if other else [])
for name in ("logical_and", "logical_or", "logical_xor"):
    row(
        name,
        [*CALLS[:5], call(t(values=[0, 1, 0, 2]), t(values=[0, 0, 3, 1]))],
        FAILS,
        promotion=True,
    )
row("logical_not", [call(t(3, 4)), call(t(values=[0, 1, 2])), call(t())], [fail()])
row("isnan", [call(t(3, 4)), SPECIAL, call(t())], [fail()])
row("isinf", [call(t(3, 4)), SPECIAL], [fail()])
row("isfinite", [call(t(3, 4)), SPECIAL], [fail()])
row("isposinf", [call(t(3, 4)), SPECIAL], [fail()])
row("isneginf", [call(t(3, 4)), SPECIAL], [fail()])
row("isreal", [call(t(3, 4)), SPECIAL], [fail()])
row(
    "isclose",
    [
        call(t(3), t(3)),
        call(t(values=[1, 2, 3]), t(values=[1, 2, 4])),
        call(t(values=[1, 2]), t(values=[1.000001, 2.1]), only=FRACTIONAL),
        call(t(values=[NAN, 1]), t(values=[NAN, 1]), equal_nan=True, only=FRACTIONAL),
        call(t(3, 1), t(4), rtol=0.5, atol=1.0),
    ],
    [fail(t(3), t(4)), fail(t(3), t(3, dtype="int64")), fail(t(3), t(3), rtol=-1.0)],
)
row(
    "allclose",
    [
        call(t(3), t(3)),
        call(t(values=[1, 2, 3]), t(values=[1, 2, 3])),
        call(t(values=[NAN, 1]), t(values=[NAN, 1]), equal_nan=True, only=FRACTIONAL),
    ],
    [fail(t(3), t(4)), fail(t(3), t(3, dtype="int64"))],
)
row(
    "equal",
    [
        call(t(3), t(3)),
        call(t(values=[1, 2, 3]), t(values=[1, 2, 3])),
        call(t(3), t(4)),
        call(t(0), t(0)),
        call(t(), t(1)),
    ],
    [fail(t(3), 2)],
)
row(
    "isin",
    [
        call(t(3, 4), t(5)),
        call(t(3), 1),
        call(2, t(3)),
        call(t(3), t(3), invert=True),
        call(t(3), t(3), assume_unique=True),
    ],
    [fail(t(3))],
)
row("is_nonzero", [call(t()), call(t(values=[0])), call(t(1, 1))], [fail(t(3)), fail(t(0))])
row("is_floating_point", [call(t(3))], [fail(3)])
row("is_complex", [call(t(3))], [fail(3)])
row("is_signed", [call(t(3))], [])
row("is_tensor", [call(t(3)), call(3)], [])
row("is_same_size", [call(t(3), t(3)), call(t(3), t(1, 3))], [])
row("numel", [call(t(3, 4)), call(t()), call(t(0, 2))], [fail(3)])
row(
    "where",
    [
        call(m(3, 4), t(3, 4), t(3, 4)),
        call(m(3, 4), t(4), t(3, 1)),
        call(m(4), t(4), 2),
        call(m(4), 2.5, t(4)),
        call(m(), t(3), t(3)),
        call(m(3), 1, 0),
        call(m(3, 4)),
        call(m(3), t(3), t(3, dtype="float64")),
        call(i(3, bound=2, dtype="uint8"), t(3), t(3)),
    ],
    [fail(m(3), t(4), t(4)), fail(t(3), t(3), t(3)), fail(m(3), t(3))],
    apart={"gradients complex128/7": "gives a real input the gradient of a complex one and fails"},
)
