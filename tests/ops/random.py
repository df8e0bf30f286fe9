"""Random numbers: the same seed gives the same values."""

from .spec import FLOATS, WIDE, Family, call, const, fail, t

# Box-Muller and logarithms agree to the last digits; the integer streams agree exactly.
row = Family(__name__, seed=7, grad=False)
D = const()
B = t(3, 4)
row(
    "rand",
    [call(3, 4, dtype=D), call((2,), dtype=D), call(20), call(0)],
    [fail(-1), fail("a"), fail(3, dtype=const("int64"))],
    exact=True,
)
row(
    "randn",
    [call(3, 4, dtype=D), call((2,), dtype=D), call(20), call(15), call(17), call(33, dtype=D)],
    [fail(-1), fail("a"), fail(3, dtype=const("int64"))],
)
row("rand_like", [call(B), call(B, dtype=const("float64"))], [fail(3)], exact=True)
row("randn_like", [call(B), call(t(20))], [fail(3)])
row(
    "randint",
    [call(5, (3, 4), dtype=D), call(2, 9, (5,)), call(2**40, (3,)), call(1, (2,), dtype=D)],
    [fail(0, (3,)), fail(5, 2, (3,)), fail(5), fail(300, (3,), dtype=const("uint8"))],
    exact=True,
)
row("randint_like", [call(B, 5), call(B, 2, 9)], [fail(B, 0)], exact=True)
row("randperm", [call(7, dtype=D), call(0), call(1), call(50)], [fail(-1), fail("a")], exact=True)
row(
    "bernoulli",
    [call(t(3, 4, low=0, high=1)), call(B, 0.3), call(t(low=0, high=1))],
    [fail(t(3, low=1)), fail(B, 2.0)],
    exact=True,
)
row(
    "multinomial",
    [
        call(t(5, low=0, high=1), 3),
        call(t(2, 5, low=0, high=1), 2, True),
        call(t(5, low=0, high=1), 1),
        call(t(3, low=0, high=1), 8, replacement=True),
    ],
    [
        fail(t(3, low=0), 4),
        fail(t(3, low=0), 0),
        fail(t(values=[-1, 1]), 1),
        fail(t(values=[0, 0]), 1),
        fail(t(2, 2, 2, low=0), 1),
    ],
    exact=True,
)
row(
    "normal",
    [
        call(t(3), t(3, low=0)),
        call(1.0, 2.0, (3, 4)),
        call(t(3), 2.0),
        call(0.5, t(3, low=0)),
        call(t(20), t(20, low=0)),
    ],
    [fail(t(3), t(3), 2), fail(t(3), -1.0), fail(0.0, -1.0, (3,))],
)
row("poisson", [call(t(3, 4, low=0)), call(t(3, low=12, high=20))], [fail(t(3, dtype="int64"))])
row("binomial", [call(t(values=[5, 10, 40]), t(3, low=0, high=1))], [], dtypes=WIDE)
for name, *calls in (
    ("uniform_", call(B), call(B, -1.0, 2.0), call(t(20)), call(t(3, 4, layout="transposed"))),
    ("normal_", call(B), call(t(20), 1.0, 2.0), call(t(16)), call(t(40))),
    ("exponential_", call(B), call(B, 2.0)),
    ("random_", call(B), call(B, 10), call(B, 3, 9)),
    ("bernoulli_", call(B), call(B, 0.3), call(B, t(3, 4, low=0, high=1))),
    ("log_normal_", call(B), call(B, 0.5, 0.3)),
    ("cauchy_", call(B), call(B, 1.0, 2.0)),
    ("geometric_", call(B, 0.3)),
):
    row(
        f"Tensor.{name}",
        calls,
        [
            fail(B, "a"),
            *{
                "uniform_": [fail(B, 2.0, 1.0)],
                "normal_": [fail(B, 0.0, -1.0)],
                "random_": [fail(B, 5, 5), fail(B, -1)],
                "exponential_": [fail(B, 0.0)],
                "bernoulli_": [fail(B, 2.0)],
                "geometric_": [fail(B, 1.0)],
            }.get(name, []),
        ],
    )
row(
    "nn.functional.dropout",
    [call(B, 0.5), call(B), call(B, 0.0), call(B, 1.0), call(B, 0.5, False), call(t(40), 0.2)],
    [fail(B, 2.0), fail(B, -0.1)],
    grad=True,
    gradcheck=False,
    inplace_flag=True,
)
row(
    "dropout",
    [call(B, 0.5, True), call(B, 0.5, False)],
    [fail(B, 2.0, True)],
    grad=True,
    gradcheck=False,
)
for name, shape in (
    ("dropout1d", (2, 3, 4)),
    ("dropout2d", (2, 3, 2, 2)),
    ("dropout3d", (1, 3, 2, 2, 2)),
    ("alpha_dropout", (3, 4)),
    ("feature_alpha_dropout", (2, 3, 2, 2)),
):
    row(
        f"nn.functional.{name}",
        [call(t(*shape), 0.5, True), call(t(*shape), 0.5, False)],
        [fail(t(*shape), 2.0, True)],
        grad=True,
        gradcheck=False,
        inplace_flag=True,
    )
row(
    "nn.functional.gumbel_softmax",
    [call(B), call(B, hard=True), call(B, 0.5)],
    [],
    grad=True,
    gradcheck=False,
    dtypes=FLOATS,
)
row("native_dropout", [call(B, 0.5, True)], [], grad=True, gradcheck=False)
