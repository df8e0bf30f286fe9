"""Sums, products, quotients, powers and their neighbours, element by element."""

from .spec import FRACTIONAL, REAL, WIDE, Family, call, fail, m, t

row = Family(__name__)

BINARY = [
    call(t(3, 4), t(3, 4)),
    call(t(3, 4), t(4)),
    call(t(2, 1, 3), t(4, 1)),
    call(t(2, 0, 5), t(5)),
    call(t(), t(1)),
    call(t(3), 2),
    call(t(3), 2.5),
    call(t(3), t(dtype="float64")),
    call(t(3), t(3, dtype="int32", low=1)),
]
NONZERO = [
    call(t(3, 4), t(3, 4, nonzero=True)),
    call(t(3, 4), t(4, nonzero=True)),
    call(t(2, 1, 3), t(4, 1, nonzero=True)),
    call(t(2, 0, 5), t(5, nonzero=True)),
    call(t(), t(1, nonzero=True)),
    call(t(4), 2),
    call(t(4), -2.5),
    call(t(3), t(dtype="float64")),
]
FAILS = [
    fail(t(3), t(4)),
    fail(t(2, 3), t(3, 2)),
    fail(t(3)),
    fail(t(3), None),
    fail(t(3), t(3), t(3)),
    fail(t(3), t(3), unknown=1),
]

row(
    "add",
    [*BINARY, call(t(3), t(3), alpha=2), call(t(3), 2, alpha=3)],
    [*FAILS, fail(t(3, dtype="int64"), t(3, dtype="int64"), alpha=1.5)],
    promotion=True,
)
row(
    "sub",
    [*BINARY, call(t(3), t(3), alpha=2)],
    [*FAILS, fail(m(3), m(3))],
    promotion=True,
    alias=["subtract"],
)
row("rsub", [*BINARY[:2], call(t(3), 2), call(t(3), 2.5, alpha=2)], FAILS, promotion=True)
row("mul", BINARY, FAILS, promotion=True, alias=["multiply"])
row(
    "div",
    [
        *NONZERO,
        *(
            call(t(3, 4), t(4, nonzero=True), rounding_mode=r, only=REAL)
            for r in ("trunc", "floor")
        ),
        call(t(3), t(3), rounding_mode=None),
        call(t(values=[1, -2, 0, 3, -1]), t(values=[0, 0, 0, 2, 3])),
    ],
    [
        *FAILS,
        fail(t(3), t(3), rounding_mode="up"),
        fail(t(3, dtype="int64"), t(values=[0, 1, 2], dtype="int64"), rounding_mode="floor"),
    ],
    promotion=True,
    alias=["divide"],
)
row("true_divide", NONZERO[:3], FAILS, promotion=True)
row(
    "floor_divide",
    [*NONZERO, call(t(values=[7, -7, 7, -7]), t(values=[2, 2, -2, -2]))],
    [*FAILS, fail(t(3, dtype="int64"), t(values=[0, 1, 2], dtype="int64"))],
    promotion=True,
)
row(
    "remainder",
    [
        *NONZERO,
        call(t(values=[7, -7, 7, -7]), t(values=[2, 2, -2, -2])),
        call(7, t(3, nonzero=True)),
    ],
    [*FAILS, fail(t(3, dtype="int64"), t(values=[0, 1, 2], dtype="int64"))],
    promotion=True,
)
row(
    "fmod",
    [*NONZERO, call(t(values=[7, -7, 7, -7]), t(values=[2, 2, -2, -2]))],
    [*FAILS, fail(t(3, dtype="int64"), t(values=[0, 1, 2], dtype="int64"))],
    promotion=True,
)
row(
    "pow",
    [
        call(t(3, 4, low=0), t(3, 4, low=0, high=3)),
        call(t(3, 1, low=0), t(4, low=0, high=3)),
        *(call(t(3, 4), e) for e in (0, 1, 2, 3)),
        call(t(3, low=0), 0.5),
        call(t(3, low=0), -0.5),
        call(t(3, nonzero=True), -1, only=FRACTIONAL),
        call(t(3, nonzero=True), -2, only=FRACTIONAL),
        call(t(3, low=0), 2.3),
        call(2, t(3, low=0)),
        call(2.5, t(3)),
        call(t(), t(1, low=0)),
        call(t(0, 3), t(3)),
        call(t(3, low=0), t(dtype="float64")),
    ],
    [fail(t(3), t(4)), fail(t(3, dtype="int64"), -1), fail(t(3)), fail(2, 3)],
    promotion=True,
)
row(
    "float_power",
    [call(t(3, low=0), t(3)), call(t(3, low=0), 2), call(2, t(3))],
    [fail(t(3), t(4))],
    promotion=True,
)
row("neg", [call(t(3, 4)), call(t()), call(t(0, 2))], [fail(m(3)), fail()], alias=["negative"])
row("positive", [call(t(3, 4)), call(t())], [fail(m(3))])
row(
    "abs",
    [call(t(3, 4)), call(t()), call(t(0, 2)), call(t(values=[-0.0, 0, -3, 5]))],
    [fail()],
    alias=["absolute"],
)
row("sign", [call(t(3, 4)), call(t(values=[-2, 0, 3])), call(t())], [fail()])
row("sgn", [call(t(3, 4)), call(t(values=[-2, 0, 3])), call(t())], [fail()])
row("signbit", [call(t(3, 4)), call(t(values=[-2, -0.0, 0, 3]))], [fail()])
row(
    "copysign",
    [call(t(3, 4), t(4)), call(t(3), -1), call(t(3), 2.0), call(t(), t(2))],
    [fail(t(3), t(4))],
    promotion=True,
)
row(
    "reciprocal",
    [call(t(3, 4, nonzero=True)), call(t()), call(t(0, 2)), call(t(values=[0, 2]))],
    [fail()],
)
row(
    "addcmul",
    [
        call(t(3, 4), t(3, 4), t(3, 4)),
        call(t(3, 1), t(4), t(3, 4), value=2),
        call(t(), t(2), t(1)),
        call(t(0, 3), t(3), t(3)),
    ],
    [fail(t(3), t(4), t(3)), fail(t(3), t(3))],
)
row(
    "addcdiv",
    [
        call(t(3, 4), t(3, 4), t(3, 4, nonzero=True)),
        call(t(3, 1), t(4), t(3, 4, nonzero=True), value=2),
        call(t(), t(2), t(1, nonzero=True)),
    ],
    [fail(t(3), t(4), t(3)), fail(t(3, dtype="int64"), t(3, dtype="int64"), t(3, dtype="int64"))],
)
row(
    "lerp",
    [
        call(t(3, 4), t(3, 4), 0.25),
        call(t(3, 4), t(4), t(3, 4)),
        call(t(3), t(3), 0.75),
        call(t(), t(2), t(1)),
        call(t(0), t(0), 0.5),
    ],
    [fail(t(3), t(4), 0.5), fail(t(3), t(3, dtype="float64"), 0.5)],
)
row(
    "hypot",
    [call(t(3, 4), t(3, 4)), call(t(3, 4), t(4)), call(t(), t(1))],
    FAILS[:2],
    promotion=True,
)
row(
    "atan2",
    [
        call(t(3, 4), t(3, 4)),
        call(t(3, 4), t(4)),
        call(t(), t(1)),
        call(t(values=[0, 0, 1, -1]), t(values=[1, -1, 0, 0])),
    ],
    FAILS[:3],
    promotion=True,
    alias=["arctan2"],
)
row(
    "ldexp",
    [call(t(3, 4), t(4, dtype="int32")), call(t(3), t(3, low=0, high=3))],
    [fail(t(3), t(4))],
    promotion=True,
)
row("frexp", [call(t(3, 4)), call(t(values=[0, 1, -8]))], [fail(t(3, dtype="int64"))])
row(
    "logaddexp",
    [call(t(3, 4), t(3, 4)), call(t(3, 4), t(4)), call(t(), t(1))],
    FAILS[:2],
    promotion=True,
)
row("logaddexp2", [call(t(3, 4), t(3, 4)), call(t(3, 4), t(4))], FAILS[:2], promotion=True)
row(
    "xlogy",
    [
        call(t(3, 4), t(3, 4, low=0, nonzero=True)),
        call(t(3), 2.0),
        call(2, t(3, low=1)),
        call(t(values=[0, 0, 2]), t(values=[0, 1, 0])),
    ],
    [fail(t(3), t(4))],
    promotion=True,
)
row(
    "special.xlog1py",
    [call(t(3, 4), t(3, 4, low=0)), call(t(3), 2.0), call(2, t(3, low=0))],
    [fail(t(3), t(4))],
    promotion=True,
)
row(
    "gcd",
    [call(t(3, 4), t(4)), call(t(values=[12, -18, 0]), t(values=[8, 12, 5]))],
    [fail(t(3), t(3)), fail(t(3, dtype="int64"), t(4, dtype="int64"))],
    promotion=True,
)
row(
    "lcm",
    [call(t(3, 4), t(4)), call(t(values=[4, -6, 0]), t(values=[6, 4, 5]))],
    [fail(t(3), t(3))],
    promotion=True,
)
row(
    "bitwise_and",
    [call(t(3, 4), t(4)), call(t(3), 3), call(6, t(3)), call(t(), t(2))],
    [fail(t(3), t(3)), fail(t(3, dtype="int64"), t(4, dtype="int64"))],
    promotion=True,
)
row(
    "bitwise_or",
    [call(t(3, 4), t(4)), call(t(3), 3), call(6, t(3))],
    [fail(t(3), t(3))],
    promotion=True,
)
row(
    "bitwise_xor",
    [call(t(3, 4), t(4)), call(t(3), 3), call(6, t(3))],
    [fail(t(3), t(3))],
    promotion=True,
)
row("bitwise_not", [call(t(3, 4)), call(t())], [fail(t(3))])
row(
    "bitwise_left_shift",
    [call(t(3, 4, low=0), t(4, low=0)), call(t(3), 2), call(3, t(3, low=0))],
    [fail(t(3), t(4))],
    promotion=True,
)
row(
    "bitwise_right_shift",
    [call(t(3, 4), t(4, low=0)), call(t(3), 2), call(30, t(3, low=0))],
    [fail(t(3), t(4))],
    promotion=True,
)
row(
    "nextafter",
    [call(t(3), t(3)), call(t(3), t(values=[float("inf")] * 3, grad=False))],
    [fail(t(3), t(4))],
)
row(
    "clamp",
    [
        call(t(3, 4), -1, 2),
        call(t(3, 4), min=-1),
        call(t(3, 4), max=1.5),
        call(t(3, 4), t(4), t(3, 4)),
        call(t(3, 4), min=t(4)),
        call(t(), 0, 1),
        call(t(3), 2, -2),
        call(t(3), max=t(1)),
        call(t(0), 0, 1),
    ],
    [fail(t(3)), fail(t(3), t(4)), fail(t(3), 0, t(3))],
    alias=["clip"],
)
row("clamp_min", [call(t(3, 4), 1), call(t(3, 4), t(4)), call(t(3), 0.5)], [fail(t(3), t(4))])
row("clamp_max", [call(t(3, 4), 1), call(t(3, 4), t(4)), call(t(3), 0.5)], [fail(t(3), t(4))])
row(
    "maximum",
    [
        call(t(3, 4), t(3, 4)),
        call(t(3, 4), t(4)),
        call(t(), t(1)),
        call(t(0), t(1)),
        call(t(values=[float("nan"), 1, 2]), t(values=[1, float("nan"), 1]), only=WIDE),
    ],
    FAILS[:3],
    promotion=True,
)
row(
    "minimum",
    [
        call(t(3, 4), t(3, 4)),
        call(t(3, 4), t(4)),
        call(t(), t(1)),
        call(t(values=[float("nan"), 1, 2]), t(values=[1, float("nan"), 1]), only=WIDE),
    ],
    FAILS[:3],
    promotion=True,
)
row(
    "fmax",
    [
        call(t(3, 4), t(4)),
        call(t(values=[float("nan"), 1]), t(values=[1, float("nan")]), only=WIDE),
    ],
    FAILS[:3],
    promotion=True,
)
row(
    "fmin",
    [
        call(t(3, 4), t(4)),
        call(t(values=[float("nan"), 1]), t(values=[1, float("nan")]), only=WIDE),
    ],
    FAILS[:3],
    promotion=True,
)
row("heaviside", [call(t(values=[-2, 0, 3]), t(3)), call(t(3), t(1))], [fail(t(3), t(4))])
row(
    "dist",
    [
        call(t(3, 4), t(3, 4)),
        call(t(3), t(3), 1),
        call(t(3), t(3), float("inf")),
        call(t(3), t(3), 3),
    ],
    [fail(t(3), t(4))],
)
row(
    "nan_to_num",
    [
        call(t(3, 4)),
        call(t(values=[float("nan"), float("inf"), -float("inf"), 1]), only=FRACTIONAL),
        call(t(values=[float("nan"), float("inf"), -float("inf"), 1]), 1, 2, 3, only=FRACTIONAL),
    ],
    [fail()],
)
row(
    "special.zeta",
    [call(t(3, low=2, high=6), t(3, low=1)), call(t(3, low=2, high=6), 2.0)],
    [fail(t(3), t(4))],
)
row(
    "igamma",
    [call(t(3, low=1), t(3, low=1))],
    [fail(t(3), t(4))],
    rtol={"float32": 1e-5, "float64": 1e-9},
)
row(
    "igammac",
    [call(t(3, low=1), t(3, low=1))],
    [fail(t(3), t(4))],
    rtol={"float32": 1e-5, "float64": 1e-9},
)
row("Tensor.__radd__", [call(t(3), 2), call(t(3), 2.5)], [])
row("Tensor.__rsub__", [call(t(3), 2), call(t(3), 2.5)], [])
row("Tensor.__rmul__", [call(t(3), 2), call(t(3), 2.5)], [])
row("Tensor.__rtruediv__", [call(t(3, nonzero=True), 2), call(t(3, nonzero=True), 2.5)], [])
row("Tensor.__rfloordiv__", [call(t(3, nonzero=True), 7), call(t(3, nonzero=True), 2.5)], [])
row("Tensor.__rpow__", [call(t(3, low=0), 2), call(t(3), 2.5)], [])
row("Tensor.__rmod__", [call(t(3, nonzero=True), 7), call(t(3, nonzero=True), 2.5)], [])
row("Tensor.__and__", [call(t(3), t(3)), call(t(3), 3)], [])
row("Tensor.__invert__", [call(t(3))], [])
row("Tensor.__lshift__", [call(t(3), 2)], [])
row("Tensor.__rshift__", [call(t(3), 2)], [])
row("Tensor.addcmul_", [call(t(3, 4), t(4), t(3, 4), value=2)], [])
