"""Element types: casts, promotion rules, limits."""

from .spec import ALL, FRACTIONAL, Family, call, const, fail, i, t

row = Family(__name__, exact=True)
B = t(3, 4)
EDGES = t(values=[0, 1, -1, 127, -128, 100.7, -100.7, 0.3])
row(
    "Tensor.to",
    [
        *(call(B, const(d)) for d in ALL),
        call(B, dtype=const("float64")),
        call(EDGES, const("int8")),
        call(EDGES, const("int64")),
        call(EDGES, const("bool")),
        call(EDGES, const("float16")),
        call(EDGES, const("bfloat16")),
        call(B, "cpu"),
        call(B, t(2, dtype="float64", grad=False)),
        call(B, const("float32"), copy=True),
        call(B, "cpu", const("int32")),
        call(t(1, 2, 3, 3), memory_format=const("channels_last")),
        call(B),
    ],
    [fail(B, "nowhere"), fail(B, "cuda")],
    gradcheck=False,
)
for name in (
    "float",
    "double",
    "half",
    "bfloat16",
    "int",
    "long",
    "short",
    "char",
    "byte",
    "bool",
    "cfloat",
    "cdouble",
):
    row(f"Tensor.{name}", [call(B), call(t())], [], gradcheck=False)
row(
    "Tensor.type",
    [call(B), call(B, const("float64")), call(B, "torch.FloatTensor")],
    [fail(B, "nothing")],
    gradcheck=False,
)
row(
    "Tensor.type_as",
    [call(B, t(2, dtype="float64", grad=False)), call(B, i(2, bound=3))],
    [fail(B, 3)],
    gradcheck=False,
)
row(
    "result_type",
    [call(t(2), t(2, dtype=d)) for d in ALL]
    + [
        call(t(), t(2, dtype="int64")),
        call(t(2), 1),
        call(t(2), 1.5),
        call(t(2), True),
        call(t(2), 1j),
        call(1, 2.5),
        call(t(), t(dtype="float64")),
    ],
    [fail("a", 1)],
    grad=False,
)
row("promote_types", [call(const(), const(d)) for d in ALL], [fail(1, 2)])
row("can_cast", [call(const(), const(d)) for d in ALL], [fail(1, 2)])
row("Tensor.dtype", [call(B)], [], grad=False)
row("Tensor.is_floating_point", [call(B)], [])
row("Tensor.data", [call(B)], [], grad=False)
row("Tensor.numpy", [], [fail(t(3, dtype="bfloat16"))], grad=False)
row("Tensor.device", [call(B)], [], grad=False)
row("Tensor.__format__", [call(t(), "")], [], grad=False)
row(
    "Tensor.__repr__",
    [
        call(B),
        call(t()),
        call(t(0)),
        call(t(2, 0)),
        call(EDGES),
        call(t(3, 3, high=2000)),
        call(t(40, 40)),
        call(t(values=[1e-5, 1, 1e5]), only=FRACTIONAL),
        call(t(values=[float("nan"), float("inf"), 1]), only=FRACTIONAL),
        call(t(2, 2, 3)),
    ],
    [],
    grad=False,
    layouts=False,
)
