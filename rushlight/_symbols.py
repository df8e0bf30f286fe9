"""Numbers that PyTorch's compilers trace; here they are plain and the classes are empty."""

from __future__ import annotations

import math


class _NoInstances:
    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self).__name__}: nothing is traced here")


class SymInt(_NoInstances):
    """A traced int."""


class SymFloat(_NoInstances):
    """A traced float."""


class SymBool(_NoInstances):
    """A traced bool."""


def sym_int(a):
    """``a`` as an int, rounded towards zero."""
    return math.trunc(a)


def sym_float(a):
    """``a`` as a float."""
    return float(a)


def sym_not(a):
    """Whether ``a`` is false."""
    return not a


def sym_max(a, b):
    """The larger number, as a float if one is."""
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a, b):
    """The smaller number, as a float if one is."""
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_sqrt(a):
    """The square root of ``a``."""
    return math.sqrt(a)


def sym_sum(args):
    """The sum of a list of numbers."""
    return sum(args)


def sym_ite(b, t, f):
    """``t`` if ``b``, else ``f``."""
    return t if b else f
