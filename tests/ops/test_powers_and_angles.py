"""Powers, angles, lengths, inverse circular functions and log gamma at each vector level."""

import os
import subprocess
import sys

import pytest

COMMON = """
import math
import os
import numpy as np
import rushlight as torch

random = np.random.default_rng(2)
np.seterr(all="ignore")
libm = os.environ["RUSHLIGHT_CPU"] == "baseline"  # whose own errors count there
wider = {np.float32: np.float64, np.float64: np.longdouble}
edges = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1.5, 1e-40, -1e-40,
         3e38, 16777215, 16777217, 8388607.5, -8388607.5, 2.0**53 - 1, 2.0**53, 1e-310, 5e-324,
         1e200, -1e200, 1e-200, 1.7e308, -1.7e308]

def check(op, reference, ulps, kind, *operands):
    operands = [np.asarray(x).astype(kind) for x in operands]
    exact = reference(*(x.astype(wider[kind]) for x in operands))
    result = op(*map(torch.from_numpy, operands)).numpy()
    expected = exact.astype(kind)
    finite, known = np.isfinite(expected), ~np.isnan(expected)
    assert result.dtype == kind and (np.isnan(result) == ~known).all()
    assert (result[~finite & known] == expected[~finite & known]).all()
    assert (np.signbit(result) == np.signbit(expected))[known].all()
    error = np.abs(result.astype(wider[kind]) - exact)[finite]
    error = error / np.spacing(np.abs(expected[finite]))
    worst = error.argmax() if error.size else 0
    assert error.size == 0 or error[worst] < ulps, (
        error[worst], [x[finite][worst] for x in operands], result[finite][worst])

def both_signs(n, least, most):  # magnitudes from exp(least) to exp(most)
    return np.exp(random.uniform(least, most, n)) * random.choice([-1, 1], n)
lengths = (0, 1, 7, 8, 15, 16, 17, 33, 20000)
"""

POWERS = COMMON + """
for kind, ulps, range_ in ((np.float32, 0.75, 88), (np.float64, 1.25, 700)):
    def powers(x, y): check(torch.pow, np.power, ulps, kind, x, y)
    for n in lengths:
        powers(random.uniform(0, 10, n), random.uniform(-5, 5, n))
        powers(-random.uniform(0, 10, n), random.integers(-9, 9, n))
        powers(random.uniform(0.9, 1.1, n), random.uniform(-range_, range_, n) * 10)
        x = both_signs(n, -range_, range_)
        powers(np.abs(x), random.uniform(-1, 1, n) * range_ / np.log(np.abs(x)))
        powers(x, random.integers(-3, 3, n))
    powers(*(g.ravel() for g in np.meshgrid(edges, edges)))
n = 20000
any_bits = random.integers(0, 2**32, (2, n), dtype=np.uint32).view(np.float32)
check(torch.pow, np.power, 0.75, np.float32, *any_bits)
for kind in (torch.float32, torch.float64):
    x = torch.randn(1000, dtype=kind)
    assert torch.equal(x**3, x * x * x) and torch.equal(x**-2, 1 / (x * x))
"""

ANGLES = COMMON + """
for kind, ulps, range_ in ((np.float32, 1.5 if libm else 0.75, 85), (np.float64, 1.5, 700)):
    for op, reference, most in ((torch.atan2, np.arctan2, ulps), (torch.hypot, np.hypot, 1.01)):
        for n in lengths:
            for reach in (1e-3, 0.7, 3, range_):
                check(op, reference, most, kind, both_signs(n, -reach, reach),
                      both_signs(n, -reach, reach))
        check(op, reference, most, kind, *(g.ravel() for g in np.meshgrid(edges, edges)))
for op, reference in ((torch.asin, np.arcsin), (torch.acos, np.arccos), (torch.atan, np.arctan)):
    for kind in (np.float32, np.float64):
        for n in lengths:
            check(op, reference, 2.5, kind, random.uniform(-1, 1, n))
            check(op, reference, 2.5, kind, 1 - np.exp(random.uniform(-12, -0.1, n)))
            check(op, reference, 2.5, kind, both_signs(n, -20, 0 if op is not torch.atan else 20))
        check(op, reference, 2.5, kind, edges)
"""

GAMMA = COMMON + """
def log_gamma(x):
    def one(v):
        try:
            return math.lgamma(v)
        except (ValueError, OverflowError):  # a pole, or beyond the range
            return math.inf
    return np.array([one(float(v)) for v in x], np.float64).reshape(x.shape)
for n in lengths:
    for x in (random.uniform(0, 12, n), random.uniform(-30, -4, n),
              np.exp(random.uniform(-80, 80, n)),
              1 + both_signs(n, -16, -1), 2 + both_signs(n, -15, -1)):
        check(torch.lgamma, log_gamma, 8 if libm else 0.75, np.float32, x)
check(torch.lgamma, log_gamma, 8 if libm else 0.75, np.float32, [*edges, -4, -1e10, 7.9999995, 8])
"""


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize("program", [POWERS, ANGLES, GAMMA], ids=["powers", "angles", "gamma"])
def test_at_each_level(program, level):
    environment = {**os.environ, "RUSHLIGHT_CPU": level}
    subprocess.run([sys.executable, "-P", "-c", program], env=environment, check=True)
