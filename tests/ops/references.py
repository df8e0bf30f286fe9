"""Functions of one number in forty digits: the truth where PyTorch's values are less exact."""

from __future__ import annotations

from decimal import Decimal, localcontext

EULER = Decimal("0.5772156649015328606065120900824024310422")
PI = Decimal("3.141592653589793238462643383279502884197")
TERMS = 60  # enough for arguments below ten


def _series(x: Decimal, order: int, sign: int):
    """The terms of the power series of J (sign -1) or I (sign 1) of an order, with their index."""
    term = (x / 2) ** order if order else Decimal(1)
    for k in range(1, order + 1):
        term /= k
    for k in range(TERMS):
        yield k, term
        term *= sign * x * x / 4 / ((k + 1) * (k + 1 + order))


def _harmonic(n: int) -> Decimal:
    return sum((Decimal(1) / k for k in range(1, n + 1)), Decimal(0))


def bessel_j0(x: Decimal) -> Decimal:
    """DLMF 10.2.2."""
    return sum(t for _, t in _series(x, 0, -1))


def bessel_j1(x: Decimal) -> Decimal:
    """DLMF 10.2.2."""
    return sum(t for _, t in _series(x, 1, -1))


def bessel_y0(x: Decimal) -> Decimal:
    """DLMF 10.8.2."""
    rest = sum(_harmonic(k) * t for k, t in _series(x, 0, -1))
    return 2 / PI * (((x / 2).ln() + EULER) * bessel_j0(x) - rest)


def bessel_y1(x: Decimal) -> Decimal:
    """DLMF 10.8.1."""
    rest = sum((_harmonic(k) + _harmonic(k + 1) - 2 * EULER) * t for k, t in _series(x, 1, -1))
    return -2 / (PI * x) + 2 / PI * (x / 2).ln() * bessel_j1(x) - rest / PI


def i0e(x: Decimal) -> Decimal:
    """DLMF 10.25.2, times exp(-|x|)."""
    return (-abs(x)).exp() * sum(t for _, t in _series(x, 0, 1))


def true_values(name: str, numbers: list) -> list[float]:
    """The function of that name at each of the numbers, rounded to a float once."""
    with localcontext() as context:
        context.prec = 40
        return [float(globals()[name](Decimal(x))) for x in numbers]
