"""unittest's TestCase that compares tensors, and what else tests take from beside it."""

from __future__ import annotations

import random
import unittest

import rushlight as torch
from rushlight.testing import assert_close

__all__ = ["IS_LINUX", "IS_MACOS", "IS_WINDOWS", "TEST_CUDA", "TEST_NUMPY", "TestCase",
           "freeze_rng_state", "run_tests", "set_rng_seed"]  # fmt: skip

IS_LINUX, IS_MACOS, IS_WINDOWS = True, False, False
TEST_CUDA, TEST_NUMPY = False, True
_NUMBERS = (torch.Tensor, bool, int, float, complex)


def set_rng_seed(seed: int = 1234) -> None:
    """Seeds Python's, NumPy's and torch's random numbers."""
    import numpy

    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


class freeze_rng_state:
    """Within ``with``: torch's random numbers go on afterwards as if nothing had been drawn."""

    def __enter__(self):
        self._state = torch.get_rng_state()

    def __exit__(self, *error):
        torch.set_rng_state(self._state)


class TestCase(unittest.TestCase):
    """Its assertEqual compares tensors, numbers and collections of them within tolerances."""

    _precision = 0
    _rel_tol = 0

    def setUp(self):
        """Seeds all random numbers."""
        super().setUp()
        set_rng_seed()

    def assertEqual(
        self, x, y, msg=None, *, atol=None, rtol=None, equal_nan=True, exact_dtype=True,
        exact_device=False, exact_layout=False, exact_stride=False,
    ):  # fmt: skip
        """Raises unless ``x`` equals ``y``; numbers and tensors within the dtype's tolerances."""
        options = {
            "rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_device": exact_device,
            "check_dtype": exact_dtype, "check_layout": exact_layout, "check_stride": exact_stride,
            "msg": msg,
        }  # fmt: skip
        self._compare(x, y, options)

    def _compare(self, x, y, options) -> None:
        if isinstance(x, dict) and isinstance(y, dict):
            super().assertEqual(x.keys(), y.keys(), options["msg"])
            for key in x:
                self._compare(x[key], y[key], options)
        elif isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            super().assertEqual(len(x), len(y), options["msg"])
            for a, b in zip(x, y, strict=True):
                self._compare(a, b, options)
        elif isinstance(x, _NUMBERS) and isinstance(y, _NUMBERS):
            if isinstance(x, torch.Tensor) != isinstance(y, torch.Tensor):
                x, y = (t.tolist() if isinstance(t, torch.Tensor) else t for t in (x, y))
            assert_close(x, y, **options)
        else:
            super().assertEqual(x, y, options["msg"])

    def assertNotEqual(self, x, y, msg=None, *, atol=None, rtol=None, **options):
        """Raises if ``x`` equals ``y``."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **options)


def run_tests(argv=None) -> None:
    """Runs the tests of the program that calls it."""
    unittest.main(argv=argv)
