"""How samples of gamma, beta and Dirichlet distributions move with their parameters."""

import math
from decimal import Decimal, localcontext

import pytest

import rushlight as torch

STEP = Decimal("1e-12")


def _slope(density, cumulative, a, x):
    """-dF/da over dF/dx, in digits enough for central differences."""
    with localcontext() as context:
        context.prec = 60
        a, x = Decimal(a), Decimal(x)
        change = (cumulative(a + STEP, x) - cumulative(a - STEP, x)) / (2 * STEP)
        return float(-change / density(a, x))


def _gamma(a: Decimal) -> Decimal:
    """By Stirling's series (DLMF 5.11.1) at an argument moved up by 60."""
    z, product = a, Decimal(1)
    for _ in range(60):
        product *= z
        z += 1
    half_log = Decimal("0.918938533204672741780329736405617639861397473637783412817151540")
    bernoulli = [(1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510),
                 (43867, 798), (-174611, 330)]  # fmt: skip
    log = (z - Decimal("0.5")) * z.ln() - z + half_log
    for n, (p, q) in enumerate(bernoulli, 1):
        log += Decimal(p) / q / (2 * n * (2 * n - 1)) / z ** (2 * n - 1)
    return log.exp() / product


def _gamma_density(a, x):
    return x ** (a - 1) * (-x).exp() / _gamma(a)


def _gamma_cumulative(a, x):
    term = total = x**a * (-x).exp() / _gamma(a + 1)
    for k in range(1, 400):
        term *= x / (a + k)
        total += term
    return total


@pytest.mark.parametrize("a", [0.05, 0.3, 1.0, 4.5, 40.0])
@pytest.mark.parametrize("share", [0.01, 0.6, 1.0, 1.5, 3.0])
def test_gamma_slopes(a, share):
    x = a * share
    found = torch._standard_gamma_grad(
        torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64)
    ).item()
    assert math.isclose(found, _slope(_gamma_density, _gamma_cumulative, a, x), rel_tol=1e-9)


@pytest.mark.parametrize("a", [0.2, 1.0, 7.5])
@pytest.mark.parametrize("b", [0.4, 1.0, 30.0])
@pytest.mark.parametrize("x", [0.003, 0.4, 0.8])
def test_dirichlet_slopes(a, b, x):
    second = Decimal(b)

    def density(a, x):
        beta = _gamma(a) * _gamma(second) / _gamma(a + second)
        return x ** (a - 1) * (1 - x) ** (second - 1) / beta

    def cumulative(a, x):
        term = total = density(a, x) * x * (1 - x) / a
        for k in range(1, 900):
            term *= x * (a + second + k - 1) / (a + k)
            total += term
        return total

    given = [torch.tensor(v, dtype=torch.float64) for v in (x, a, a + b)]
    found = torch._dirichlet_grad(*given).item()
    assert math.isclose(found, _slope(density, cumulative, a, x) / (1 - x), rel_tol=1e-9)


def test_edges():
    a = torch.tensor([1.0, 1.0, -1.0, float("nan"), 3e6])
    x = torch.tensor([0.0, float("inf"), 1.0, 1.0, 3e6])
    found = torch._standard_gamma_grad(a, x).tolist()
    assert found[0] == 0 and found[4] == 1
    assert all(math.isnan(v) for v in found[1:4])


def test_a_sample_can_be_fitted():
    """The mean of Gamma(a, 1) is a: following the gradient of the samples' mean finds it."""
    torch.manual_seed(0)
    a = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([a], lr=0.2)
    for _ in range(60):
        optimizer.zero_grad()
        samples = torch.distributions.Gamma(a, torch.tensor(1.0)).rsample((500,))
        (samples.mean() - 3.0).square().backward()
        optimizer.step()
    assert abs(a.item() - 3.0) < 0.2
