"""Numbers that PyTorch's compilers trace; here they are plain and the classes are empty."""

from __future__ import annotations

import math


class _NoInstances:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            f"torch.{type(self).__name__} is not supported: rushlight runs programs as they are; "
            "sizes are ints."
        )


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
    """``t`` if ``b``, else ``f``; AssertionError unless ``b`` is a bool and they are of a type."""
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_fresh_size(expr):
    """Raises: there are no symbols."""
    raise NotImplementedError("torch.sym_fresh_size is not supported: sizes are ints here.")


def sym_constrain_range(size, *, min=None, max=None) -> None:
    """Raises RuntimeError where ``size`` is not in the range."""
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


sym_constrain_range_for_size = sym_constrain_range
