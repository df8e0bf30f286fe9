"""Functions of one number: exponentials, trigonometry, rounding and special functions."""

from .spec import WIDE, Family, call, fail, i, t

row = Family(__name__)
NAN, INF = float("nan"), float("inf")
EDGES = call(t(values=[NAN, INF, -INF, 0, -0.0, 1, -1]), only=WIDE)


def unary(name, low=-4, high=4, edges=True, **options):
    """A row of a function that is defined, and checked, between low and high."""
    span = {"low": low, "high": high}
    calls = [call(t(3, 4, **span)), call(t(**span)), call(t(0, 3, **span)), call(t(2, 40, **span))]
    row(
        name,
        [*calls, EDGES] if edges else calls,
        [fail(), fail(2.5), fail(t(3), t(3), t(3))],
        **options,
    )


for name in (
    "exp",
    "exp2",
    "expm1",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "sigmoid",
    "erf",
    "erfc",
    "sinc",
    "special.i1",
    "special.i1e",
    "special.log_ndtr",
    "special.erfcx",
    "special.ndtr",
    "special.expit",
    "square",
    "rad2deg",
    "deg2rad",
    "i0",
):
    unary(name)
unary("special.i0e", reference="i0e")
for name, other in (("asinh", "arcsinh"), ("atan", "arctan")):
    unary(name, alias=[other])
for name, other in (("asin", "arcsin"), ("acos", "arccos"), ("atanh", "arctanh")):
    unary(name, -1, 1, alias=[other])
unary("acosh", 1, 4, alias=["arccosh"])
for name in ("log", "log2", "log10", "sqrt", "rsqrt", "lgamma", "digamma", "special.entr"):
    unary(name, 0, 4)
unary("log1p", 0, 4)
unary("erfinv", -1, 1)
unary("special.ndtri", 0, 1)
for name in ("ceil", "floor", "trunc", "frac"):
    unary(name, exact=True, alias=["fix"] if name == "trunc" else [])
# PyTorch's Bessel functions of doubles are right to ten digits only.
NEAR = {"edges": False, "rtol": {"float32": 5e-6}, "atol": {"float32": 5e-6}}
for name in ("bessel_j0", "bessel_j1"):
    unary(f"special.{name}", reference=name, **NEAR)
for name in ("bessel_y0", "bessel_y1"):
    unary(f"special.{name}", 0, 4, reference=name, **NEAR)
for name in (
    "special.modified_bessel_i0",
    "special.modified_bessel_i1",
):
    unary(name, **NEAR)
for name in (
    "special.modified_bessel_k0",
    "special.modified_bessel_k1",
    "special.scaled_modified_bessel_k0",
    "special.scaled_modified_bessel_k1",
    "special.spherical_bessel_j0",
    "special.airy_ai",
):
    unary(name, 0, 4, **NEAR)
row(
    "round",
    [
        call(t(3, 4)),
        call(t(values=[0.5, 1.5, -0.5, 2.5, -2.5])),
        call(t(3), decimals=1),
        call(t(values=[123, 456]), decimals=-1),
        call(t(0)),
    ],
    [fail(), fail(t(3), decimals="a")],
)
row(
    "logit",
    [
        call(t(3, 4, low=0, high=1)),
        call(t(3, low=0, high=1), 0.2),
        call(t(values=[0, 1, 2]), eps=1e-3),
        call(t(low=0, high=1)),
    ],
    [fail()],
)
row("mvlgamma", [call(t(3, low=3), 2), call(t(3, low=3), p=3)], [fail(t(3), 0), fail(t(3))])
row(
    "polygamma",
    [call(1, t(3, low=1)), call(2, t(3, low=1)), call(0, t(3, low=1))],
    [fail(-1, t(3))],
    rtol={"float32": 1e-5, "float64": 1e-9},
)
for name in ("expm1", "exp2", "erf", "erfc", "erfinv", "log1p", "sinc", "round"):
    row(f"special.{name}", [call(t(3, low=0, high=1))], [])
row("special.logit", [call(t(3, low=0, high=1))], [])
row("special.gammaln", [call(t(3, low=0))], [])
row("special.digamma", [call(t(3, low=0))], [], alias=["special.psi"])
row("special.i0", [call(t(3))], [])
row("special.polygamma", [call(1, t(3, low=1))], [])
row("special.multigammaln", [call(t(3, low=3), 2)], [])
row("special.xlogy", [call(t(3), t(3, low=1))], [])
row("special.gammainc", [call(t(3, low=1), t(3, low=1))], [], rtol={"float32": 1e-5})
row("special.gammaincc", [call(t(3, low=1), t(3, low=1))], [], rtol={"float32": 1e-5})
for name in (
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
):
    row(
        f"special.{name}",
        [call(t(4, low=-1, high=1), i(4, bound=4)), call(t(3, low=-1, high=1), 2)],
        [fail(t(3), t(4))],
    )
