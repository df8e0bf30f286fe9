"""What every transform is: a map, its cache and its inverse."""

from __future__ import annotations

import weakref

from .. import constraints


class Transform:
    """A map ``y = t(x)`` from ``domain`` to ``codomain``; ``t.inv`` is its inverse.

    Args:
        cache_size: 1 keeps the last pair, so that the inverse of a value is exact; 0 does not.
    """

    bijective = False

    def __init__(self, cache_size: int = 0):
        self._cache_size = cache_size
        self._inv = None
        if cache_size == 1:
            self._cached_x_y = None, None
        elif cache_size != 0:
            raise ValueError("cache_size must be 0 or 1")

    def __getstate__(self):
        return self.__dict__ | {"_inv": None}

    @property
    def event_dim(self) -> int:
        """Dimensions of one event, where those of domain and codomain agree."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self):
        """The inverse."""
        inv = None if self._inv is None else self._inv()
        if inv is None:
            inv = _InverseTransform(self)
            self._inv = weakref.ref(inv)
        return inv

    @property
    def sign(self):
        """The sign of the derivative of a monotone map."""
        raise NotImplementedError

    def with_cache(self, cache_size=1):
        """The same map with another cache."""
        return self if self._cache_size == cache_size else self._remade(cache_size)

    def _remade(self, cache_size):
        # Transforms with arguments say how.
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x):
        return self._through_cache(0, x, self._call)

    def _inv_call(self, y):
        return self._through_cache(1, y, self._inverse)

    def _through_cache(self, side: int, value, compute):
        if self._cache_size == 0:
            return compute(value)
        if value is self._cached_x_y[side]:
            return self._cached_x_y[1 - side]
        made = compute(value)
        self._cached_x_y = (made, value) if side else (value, made)
        return made

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """log |dy/dx|."""
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__}()"

    def forward_shape(self, shape):
        """The shape of the result for an input's shape."""
        return shape

    def inverse_shape(self, shape):
        """The shape of the input for a result's shape."""
        return shape


class _InverseTransform(Transform):
    """The other direction of a map."""

    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._forward = transform

    domain = constraints.dependent_property(
        lambda self: self._forward.codomain, is_discrete=False
    )
    codomain = constraints.dependent_property(
        lambda self: self._forward.domain, is_discrete=False
    )
    bijective = property(lambda self: self._forward.bijective)
    sign = property(lambda self: self._forward.sign)
    inv = property(lambda self: self._forward)

    def with_cache(self, cache_size=1):
        return self._forward.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._forward == other._forward

    __hash__ = object.__hash__

    def __repr__(self):
        return f"_InverseTransform({self._forward!r})"

    def __call__(self, x):
        return self._forward._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._forward.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._forward.forward_shape(shape)


class SameKind:
    """Maps without parameters: equal to others of their class."""

    def __eq__(self, other):
        return isinstance(other, type(self))

    __hash__ = object.__hash__


def widened(constraint, event_dim: int):
    extra = event_dim - constraint.event_dim
    if extra < 0:
        raise AssertionError(f"event_dim {event_dim} must be >= {constraint.event_dim}")
    return constraints.independent(constraint, extra) if extra else constraint
