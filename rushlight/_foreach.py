"""``torch._foreach_*``: one op over lists of tensors, in place (``_`` at the end) or not."""

from __future__ import annotations

import rushlight as torch

_UNARY = (
    "abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p "
    "log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero"
).split()
_BINARY = "add clamp_max clamp_min copy div lerp maximum minimum mm mul pow sub".split()
_TERNARY = "addcdiv addcmul".split()
# What an overload calls its second argument, beside "other" (lists) and "scalar", "scalars".
_SECOND = {"copy": ("src",), "mm": ("mat2",), "pow": ("exponent",), "lerp": ("tensors1",)}
_THIRD = {"copy": "non_blocking", "lerp": "weight weights"}
_ONLY_IN_PLACE = ("copy", "zero")
_NEVER_IN_PLACE = ("clone", "mm")


def _is_list(value) -> bool:
    return isinstance(value, (list, tuple))


def _check(name: str, self, *others) -> None:
    """Raises unless ``self`` is a list of tensors and the lists beside it are as long."""
    if not _is_list(self) or not all(isinstance(t, torch.Tensor) for t in self):
        raise TypeError(
            f"{name}(): argument 'self' (position 1) must be tuple of Tensors, "
            f"not {type(self).__name__}"
        )
    if not self:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in others:
        if not _is_list(other) or len(other) == len(self):
            continue
        if other and not isinstance(other[0], torch.Tensor):
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        raise RuntimeError(
            "Tensor lists must have the same number of tensors, "
            f"got {len(self)} and {len(other)}"
        )


def _each(value, count: int):
    return value if _is_list(value) else [value] * count


def _scalar(value):
    """A tensor for all, which must have no dimension."""
    if isinstance(value, torch.Tensor) and value.dim():
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {value.dim()} dimensions and "
            f"{value.numel()} elements."
        )
    return value


def _scales(value, count: int) -> list:
    """The numbers of a list or of a tensor that holds one for each."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    return _each(value, count)


def _function(name: str, apply, in_place: bool):
    def function(self, *args, **kwargs):
        made = apply(self, *args, **kwargs)
        return self if in_place else tuple(made)

    function.__name__ = function.__qualname__ = name
    return function


def _method(op: str, in_place: bool):
    # maximum and minimum have no in-place form of their own.
    if op in ("maximum", "minimum") and in_place:
        plain = getattr(torch, op)
        return lambda t, other: t.copy_(plain(t, other))
    method = getattr(torch.Tensor, op + "_" * in_place)
    return method


def _unary(name: str, op: str, in_place: bool):
    method = _method(op, in_place)

    def apply(self):
        _check(name, self)
        return [method(t) for t in self]

    def clone(self, *, memory_format=torch.preserve_format):
        _check(name, self)
        return [method(t, memory_format=memory_format) for t in self]

    return clone if op == "clone" else apply


def _named(name: str, op: str, given: tuple, options: dict) -> tuple:
    """The arguments after ``self`` in order; what is left of ``options`` goes by name."""
    for names in (
        _SECOND.get(op, ("other", "scalar", "scalars")),
        tuple(_THIRD.get(op, "").split()) if given or options else (),
    ):
        found = [key for key in names if key in options]
        if found:
            given = (*given, options.pop(found[0]))
    if not given:
        raise TypeError(f"{name}() missing 1 required positional arguments: \"{_first(op)}\"")
    return given


def _first(op: str) -> str:
    return _SECOND.get(op, ("scalar",))[0]


def _binary(name: str, op: str, in_place: bool):
    method = _method(op, in_place)
    bounds = {"clamp_max": "minimum", "clamp_min": "maximum"}

    def apply(self, *given, **options):
        other, *rest = _named(name, op, given, options)
        if op == "pow" and not _is_list(self):
            _check(name, other)
            return [torch.pow(self, t) for t in other]
        _check(name, self, other, *rest)
        others = _each(_scalar(other), len(self))
        if op == "lerp" and rest and _is_list(rest[0]):
            return [method(t, o, w) for t, o, w in zip(self, others, rest[0], strict=True)]
        if op in ("maximum", "minimum") and not isinstance(others[0], torch.Tensor):
            clamp = _method("clamp_min" if op == "maximum" else "clamp_max", in_place)
            return [clamp(t, o) for t, o in zip(self, others, strict=True)]
        if op in bounds and isinstance(others[0], torch.Tensor):
            bound = _method(bounds[op], in_place)
            return [bound(t, o) for t, o in zip(self, others, strict=True)]
        return [method(t, o, *rest, **options) for t, o in zip(self, others, strict=True)]

    return apply


def _ternary(name: str, op: str, in_place: bool):
    method = _method(op, in_place)

    def apply(self, tensor1, tensor2, value=None, *, scalars=None):
        value = scalars if value is None else value
        value = 1 if value is None else value
        _check(name, self, tensor1, tensor2, value)
        values = _scales(value, len(self))
        rows = zip(self, tensor1, tensor2, values, strict=True)
        return [method(t, a, b, value=v) for t, a, b, v in rows]

    return apply


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of each tensor."""
    _check("_foreach_norm", self)
    return tuple(torch.linalg.vector_norm(t, ord, dtype=dtype) for t in self)


def _foreach_powsum(self, ord=2, dtype=None):
    """The sum of the powers of each tensor's absolute values."""
    _check("_foreach_powsum", self)
    return tuple(t.abs().pow(ord).sum(dtype=dtype) for t in self)


def _foreach_max(self):
    """The maximum of each tensor."""
    _check("_foreach_max", self)
    return tuple(t.max() for t in self)


def _build() -> dict:
    table = {f.__name__: f for f in (_foreach_norm, _foreach_powsum, _foreach_max)}
    for ops, make in ((_UNARY, _unary), (_BINARY, _binary), (_TERNARY, _ternary)):
        for op in ops:
            for in_place in (False, True):
                if op in (_NEVER_IN_PLACE if in_place else _ONLY_IN_PLACE):
                    continue
                name = f"_foreach_{op}{'_' * in_place}"
                table[name] = _function(name, make(name, op, in_place), in_place)
    return table


globals().update(_build())
