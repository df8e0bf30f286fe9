"""New tensors: constants, ranges and their like forms."""

from .spec import Family, call, const, fail, m, t

row = Family(__name__, exact=True, grad=False)
D = const()
B = t(3, 4)
CL = {"memory_format": const("channels_last")}

for name in ("zeros", "ones"):
    row(
        name,
        [
            call(3, 4, dtype=D),
            call((2, 3), dtype=D),
            call(0, dtype=D),
            call((), dtype=D),
            call(2),
            call([2, 0], dtype=D),
            call(size=(2,), dtype=D),
        ],
        [
            fail(-1),
            fail("a"),
            fail(2.5),
            fail(2, dtype="x"),
            fail((2, -3)),
            fail(2**62, 8),
            fail(3, device="nowhere"),
            fail(),
            fail(3, names=3),
        ],
    )
    row(
        f"{name}_like",
        [
            call(B),
            call(t()),
            call(B, dtype=const("float64")),
            call(t(3, 4, layout="transposed")),
            call(t(1, 2, 3, 3), **CL),
            call(t(3, 4, layout="step")),
        ],
        [fail(3), fail()],
    )
    row(
        f"Tensor.new_{name}",
        [call(B, 2, 3), call(B, (2,)), call(B, (2,), dtype=const("int64"))],
        [fail(B, -1), fail(B, "a")],
    )
row(
    "full",
    [
        call((2, 3), 2, dtype=D),
        call((2,), 2.5),
        call((2,), True),
        call((2,), 3),
        call((), 1, dtype=D),
        call((2,), 1 + 2j),
        call((0, 2), 1, dtype=D),
    ],
    [
        fail((2,)),
        fail(2, 3),
        fail((2,), "a"),
        fail((-1,), 0),
        fail((2,), 300, dtype=const("uint8"), only=("uint8",)),
    ],
)
row(
    "full_like",
    [
        call(B, 2),
        call(B, 2.5),
        call(t(3, 4, layout="transposed"), 1),
        call(B, 2, dtype=const("float64")),
    ],
    [fail(B), fail(B, "a")],
)
row("Tensor.new_full", [call(B, (2, 3), 2)], [fail(B, (2, 3)), fail(B, 2, 2)])
row(
    "empty",
    [call(3, 4, dtype=D), call((2, 3), dtype=D), call(0, dtype=D), call(1, 2, 3, 3, dtype=D, **CL)],
    [fail(-1), fail("a"), fail(2**62, 8), fail(2, 3, **CL)],
    uninitialised=True,
)
row(
    "empty_like",
    [
        call(B),
        call(t(3, 4, layout="transposed")),
        call(B, dtype=const("int64")),
        call(t(1, 2, 3, 3), **CL),
    ],
    [fail(3)],
    uninitialised=True,
)
row("Tensor.new_empty", [call(B, 2, 3), call(B, (2,))], [fail(B, -1)], uninitialised=True)
row(
    "Tensor.new_empty_strided",
    [call(B, (2, 3), (1, 2))],
    [fail(B, (2, 3), (1,))],
    uninitialised=True,
)
row("Tensor.new_tensor", [call(B, [1, 0]), call(B, 1)], [fail(B, ["a"])])
row(
    "empty_strided",
    [call((2, 3), (1, 2), dtype=D), call((), (), dtype=D)],
    [fail((2, 3), (1,)), fail((2,), (-1,)), fail((-2,), (1,))],
    uninitialised=True,
)
row(
    "empty_permuted",
    [call((2, 3), (1, 0), dtype=D)],
    [fail((2, 3), (0,)), fail((2, 3), (0, 0))],
    uninitialised=True,
)
row("scalar_tensor", [call(2, dtype=D), call(2.5)], [fail("a")])
row(
    "tensor",
    [
        call([1, 0, 1], dtype=D),
        call([[1, 2], [3, 4]], dtype=D),
        call(1, dtype=D),
        call([], dtype=D),
        call([1, 2.5]),
        call([True, False]),
        call([1, True]),
        call([1 + 2j, 1]),
        call([[], []]),
        call(2.5),
        call(3),
        call(True),
        call((1, 2)),
        call([(1, 2), [3, 4]]),
        call(range(3)),
        call([t(), t()]),
        call([float("nan"), float("inf")]),
    ],
    [
        fail([1, "a"]),
        fail([[1], [1, 2]]),
        fail("a"),
        fail(None),
        fail([None]),
        fail([1, [2]]),
        fail([2**70]),
        fail([t(2), 1]),
        fail({}),
        fail(2**70),
        fail(),
        fail([300], dtype=const("uint8")),
    ],
)
row(
    "as_tensor",
    [call([1, 0, 1], dtype=D), call(B), call(B, dtype=const("float64")), call(2.5)],
    [fail("a"), fail([[1], [1, 2]])],
)
row("asarray", [call([1, 0, 1], dtype=D), call(B), call(B, copy=True), call(2.5)], [fail("a")])
row(
    "arange",
    [
        call(5, dtype=D),
        call(1, 5, dtype=D),
        call(1, 8, 2, dtype=D),
        call(5),
        call(5.0),
        call(0, 1, 0.25),
        call(5, 0, -2),
        call(0, dtype=D),
        call(0.5, 3, 0.5, dtype=D),
        call(start=1, end=4),
        call(3, 3),
        call(0, 2.7),
    ],
    [
        fail(5, 0),
        fail(0, 5, 0),
        fail(0, 5, -1),
        fail(float("inf")),
        fail(float("nan")),
        fail("a"),
        fail(),
    ],
)
row(
    "range",
    [call(1, 5, dtype=D), call(0, 1, 0.5), call(5, 1, -2)],
    [fail(5, 0), fail(0, 1, 0)],
    outs=False,
)
row(
    "linspace",
    [
        call(0, 1, 5, dtype=D),
        call(-3, 3, 7, dtype=D),
        call(1, 2, 1, dtype=D),
        call(1, 2, 0, dtype=D),
        call(0, 10, 4, dtype=D),
        call(t(), 2, 3),
        call(3, -3, 4),
        call(0, 1j, 3, only=("complex64",)),
    ],
    [fail(0, 1), fail(0, 1, -1), fail(t(2), 1, 3), fail("a", 1, 2)],
    exact=False,
)
row(
    "logspace",
    [call(0, 1, 5, dtype=D), call(0, 3, 4, 2.0, dtype=D), call(1, 2, 1), call(0, 1, 0)],
    [fail(0, 1, -1)],
    exact=False,
)
row(
    "eye",
    [call(3, dtype=D), call(2, 4, dtype=D), call(0, dtype=D), call(3, 0)],
    [fail(-1), fail(2, -1), fail("a")],
)
row(
    "complex",
    [call(t(3), t(3)), call(t(3, 1), t(4)), call(t(), t(1))],
    [
        fail(t(3, dtype="float32"), t(3, dtype="float64")),
        fail(t(3, dtype="int64"), t(3, dtype="int64")),
        fail(t(3), t(4)),
    ],
    grad=True,
)
row(
    "polar",
    [call(t(3, low=0), t(3)), call(t(3, 1, low=0), t(4))],
    [
        fail(t(3, dtype="float32"), t(3, dtype="float64")),
        fail(t(3, dtype="int64"), t(3, dtype="int64")),
    ],
    grad=True,
    exact=False,
)
row(
    "fill",
    [call(B, 2), call(B, 2.5), call(B, t()), call(t(0), 1)],
    [fail(B, t(2)), fail(B, "a")],
    grad=True,
)
row("zero_", [call(B), call(t()), call(t(0))], [fail()])
row("Tensor.zero_", [call(B)], [])
row(
    "Tensor.copy_",
    [
        call(B, t(3, 4)),
        call(B, t(4)),
        call(B, t(3, 4, dtype="float64")),
        call(B, t(3, 4, dtype="int64")),
        call(B, m(3, 4)),
        call(B, t(3, 4, dtype="complex64")),
        call(B, 2),
    ],
    [fail(B, t(3)), fail(B, "a"), fail(t(3), t(2, 3)), fail(B)],
)
for window in (
    "hann_window",
    "hamming_window",
    "blackman_window",
    "bartlett_window",
    "kaiser_window",
):
    row(
        window,
        [call(5, dtype=D), call(4, False, dtype=D), call(1), call(0)],
        [fail(-1), fail(5, dtype=const("int64"))],
        exact=False,
    )
