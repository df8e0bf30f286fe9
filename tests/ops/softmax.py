"""Softmax and its relatives."""

from .spec import WIDE, Family, call, const, fail, t

row = Family(__name__)
A, B = t(2, 3, 4), t(3, 4)
INF = float("inf")
CALLS = [
    call(B, 1),
    call(B, 0),
    call(A, -1),
    call(A, 1),
    call(t(), 0),
    call(t(0, 3), 1),
    call(t(3, 0), 1),
    call(t(2, 40), 1),
    call(B, 1, dtype=const("float64")),
    call(t(values=[-INF, 1, 2]), 0, only=WIDE),
    call(t(values=[-INF, -INF]), 0, only=WIDE),
    call(t(values=[1000, 1001, 999]), 0, only=WIDE),
]
FAILS = [fail(B, 2), fail(2, 0), fail(B, -3)]

row("softmax", CALLS, [*FAILS, fail(B)], alias=["special.softmax"])
row("log_softmax", CALLS, [*FAILS, fail(B)], alias=["special.log_softmax"])
row("nn.functional.softmax", CALLS[:4], FAILS)
row("nn.functional.log_softmax", CALLS[:4], FAILS)
row("nn.functional.softmin", CALLS[:4], FAILS)
