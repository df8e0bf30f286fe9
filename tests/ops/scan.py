"""Running sums, products and extremes; differences and integrals along a dimension."""

from .spec import WIDE, Family, call, const, fail, t

row = Family(__name__)
A, B = t(2, 3, 4), t(3, 4)
CALLS = [call(B, 0), call(B, -1), call(A, 1), call(t(), 0), call(t(0), 0), call(t(2, 0), 1)]
FAILS = [fail(B), fail(B, 2), fail(2, 0)]

row("cumsum", [*CALLS, call(B, 1, dtype=const("float64")), call(t(3, 40), 1)], FAILS)
row(
    "cumprod",
    [*CALLS, call(B, 1, dtype=const("float64")), call(t(values=[2, 0, 3, 0, 1]), 0)],
    FAILS,
    apart={"gradients complex128/6": "divides by complex numbers of which it took the real part"},
)
row(
    "cummax",
    [
        *CALLS,
        call(t(values=[1, 3, 3, 2, 4]), 0),
        call(t(values=[1, float("nan"), 2]), 0, only=WIDE),
    ],
    FAILS,
)
row("cummin", [*CALLS, call(t(values=[4, 3, 3, 2, 4]), 0)], FAILS)
row("logcumsumexp", [*CALLS, call(t(values=[-float("inf"), 1, 2]), 0, only=WIDE)], FAILS)
row(
    "diff",
    [
        call(B),
        call(B, 2),
        call(B, dim=0),
        call(t(4), prepend=t(1), append=t(2)),
        call(t(1)),
        call(B, 0),
    ],
    [fail(t()), fail(B, -1), fail(B, 1, 2)],
)
row(
    "trapezoid",
    [call(B), call(B, t(4)), call(B, dx=2.0), call(B, dim=0), call(t(1))],
    [fail(B, t(3)), fail(t())],
    alias=["trapz"],
)
row(
    "cumulative_trapezoid",
    [call(B), call(B, t(4)), call(B, dx=2.0), call(B, dim=0)],
    [fail(B, t(3))],
)
row(
    "gradient",
    [
        call(t(5)),
        call(B),
        call(B, spacing=2.0),
        call(B, dim=1),
        call(t(5), spacing=(t(5, distinct=True),)),
        call(t(5), edge_order=2),
    ],
    [fail(t(1)), fail(B, edge_order=3)],
)
