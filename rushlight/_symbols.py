"""Numbers that torch.export traces: sizes that may differ at the next call, and what follows."""

from __future__ import annotations

import math


class _Symbolic:
    """A number with a ``node``, which records what is computed with it."""

    def __init__(self, node):
        if not hasattr(node, "apply"):
            raise NotImplementedError(
                f"torch.{type(self).__name__} is not supported: rushlight runs programs as they "
                "are; sizes are ints."
            )
        self.node = node

    def __index__(self):
        return self.node.decide(self, "index")

    __int__ = __trunc__ = __index__

    def __float__(self):
        return float(self.node.decide(self, "float"))

    def __bool__(self):
        return bool(self.node.decide(self, "bool"))

    def __hash__(self):
        raise TypeError(f"unhashable type: non-nested {type(self).__name__}")

    def __repr__(self):
        return str(self.node)

    __str__ = __repr__

    def __format__(self, spec):
        return format(str(self.node), spec)

    def __deepcopy__(self, memo):
        return self


def _binary(name: str):
    def method(self, other):
        return self.node.apply(name, self, other)

    def reflected(self, other):
        return self.node.apply(name, other, self)

    return method, reflected


def _unary(name: str):
    def method(self):
        return self.node.apply(name, self)

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod", "truediv", "pow"):
    _method, _reflected = _binary(_name)
    setattr(_Symbolic, f"__{_name}__", _method)
    setattr(_Symbolic, f"__r{_name}__", _reflected)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(_Symbolic, f"__{_name}__", _binary(_name)[0])
for _name in ("neg", "abs"):
    setattr(_Symbolic, f"__{_name}__", _unary(_name))


class SymInt(_Symbolic):
    """A traced int."""

    def __round__(self, ndigits=None):
        return self

    def __pos__(self):
        return self


class SymFloat(_Symbolic):
    """A traced float."""


class SymBool(_Symbolic):
    """A traced bool."""


def sym_int(a):
    """``a`` as an int, rounded towards zero."""
    if isinstance(a, SymInt):
        return a
    return a.node.apply("trunc", a) if isinstance(a, SymFloat) else math.trunc(a)


def sym_float(a):
    """``a`` as a float."""
    if isinstance(a, SymFloat):
        return a
    return a.node.apply("sym_float", a) if isinstance(a, SymInt) else float(a)


def sym_not(a):
    """Whether ``a`` is false."""
    return a.node.apply("sym_not", a) if isinstance(a, SymBool) else not a


def _choose(name: str, a, b):
    for each in (a, b):
        if isinstance(each, _Symbolic):
            return each.node.apply(name, a, b)
    chosen = (max if name == "sym_max" else min)(a, b)
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def sym_max(a, b):
    """The larger number, as a float if one is."""
    return _choose("sym_max", a, b)


def sym_min(a, b):
    """The smaller number, as a float if one is."""
    return _choose("sym_min", a, b)


def sym_sqrt(a):
    """The square root of ``a``."""
    return a.node.apply("sym_sqrt", a) if isinstance(a, _Symbolic) else math.sqrt(a)


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
