"""finfo and iinfo: the limits of floating-point and integer dtypes."""

from __future__ import annotations

from . import _C
from .functional import typename

# Mantissa bits without the implicit one, smallest normal exponent, largest exponent, decimals.
_FLOAT = {
    _C.float16: (16, 10, -14, 15, 3),
    _C.bfloat16: (16, 7, -126, 127, 2),
    _C.float32: (32, 23, -126, 127, 6),
    _C.float64: (64, 52, -1022, 1023, 15),
    _C.complex32: (16, 10, -14, 15, 3),
    _C.complex64: (32, 23, -126, 127, 6),
    _C.complex128: (64, 52, -1022, 1023, 15),
    _C.float8_e4m3fn: (8, 3, -6, 8, 0),
    _C.float8_e5m2: (8, 2, -14, 15, 0),
    _C.float8_e4m3fnuz: (8, 3, -7, 7, 0),
    _C.float8_e5m2fnuz: (8, 2, -15, 15, 0),
    _C.float8_e8m0fnu: (8, 0, -127, 127, 0),
}


def _asked(name, given, keywords):
    if keywords.keys() - {"type"}:
        unknown = min(keywords.keys() - {"type"})
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
    given += tuple(keywords.values())
    if len(given) > 1:
        raise TypeError(f"{name}() takes 1 positional argument but {len(given)} were given")
    if given and not isinstance(given[0], _C.dtype):
        raise TypeError(
            f"{name}(): argument 'type' (position 1) must be torch.dtype, "
            f"not {typename(type(given[0]))}"
        )
    return given[0] if given else None


class _Limits:
    """What finfo and iinfo share: read-only numbers, equality by dtype."""

    __slots__ = ("_dtype",)

    @property
    def dtype(self):
        """The name of the dtype: "float32"."""
        return str(self._dtype).removeprefix("torch.")

    @property
    def bits(self):
        """Bits of one number (of one component, for complex dtypes)."""
        return self._dtype.itemsize * (4 if self._dtype.is_complex else 8)

    def __eq__(self, other):
        return type(self) is type(other) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self._dtype)


class finfo(_Limits):
    """The limits of a floating-point ``type`` (default: the default dtype)."""

    __slots__ = ()

    def __init__(self, *given, **keywords):
        dtype = _asked("finfo", given, keywords) or _C.get_default_dtype()
        if dtype is _C.float4_e2m1fn_x2:
            raise NotImplementedError("\"dtype\" not implemented for 'Float4_e2m1fn_x2'")
        if dtype not in _FLOAT:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'"
            )
        self._dtype = dtype.to_real() if dtype.is_complex else dtype

    @property
    def eps(self):
        """The distance from 1.0 to the next larger number."""
        if self._dtype is _C.float8_e5m2fnuz:
            return 0.125  # as PyTorch states it; the distance is 0.25
        return 2.0 ** -_FLOAT[self._dtype][1]

    @property
    def max(self):
        """The largest finite number."""
        if self._dtype is _C.float8_e4m3fn:
            return 448.0  # the code above it is NaN
        _, mantissa, _, exponent, _ = _FLOAT[self._dtype]
        return (2.0 - 2.0**-mantissa) * 2.0**exponent

    @property
    def min(self):
        """The smallest finite number: -max, unless the type has no sign."""
        return -self.max if self._dtype.is_signed else self.tiny

    @property
    def smallest_normal(self):
        """The smallest positive number of full precision."""
        return 2.0 ** _FLOAT[self._dtype][2]

    tiny = smallest_normal

    @property
    def resolution(self):
        """Ten to the minus the number of decimals that are exact."""
        return float(f"1e-{_FLOAT[self._dtype][4]}")

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo(_Limits):
    """The limits of an integer ``type``."""

    __slots__ = ()

    def __init__(self, *given, **keywords):
        dtype = _asked("iinfo", given, keywords)
        if dtype is None:
            raise TypeError('iinfo() missing 1 required positional arguments: "type"')
        if dtype.is_floating_point or dtype.is_complex:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'"
            )
        if dtype is _C.bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        self._dtype = dtype

    @property
    def max(self):
        """The largest number."""
        return 2 ** (self.bits - self._dtype.is_signed) - 1

    @property
    def min(self):
        """The smallest number."""
        return -(2 ** (self.bits - 1)) if self._dtype.is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
