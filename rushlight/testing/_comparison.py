"""assert_close: tensors, numbers and containers of them, compared with tolerances."""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping, Sequence

import rushlight as torch

# rtol and atol for each element type; whole numbers must be equal.
_DEFAULTS = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class _Mismatch(Exception):
    """A difference found somewhere in the two structures: its text and the keys to it."""

    def __init__(self, text: str, path: tuple = ()):
        super().__init__(text)
        self.text, self.path = text, path


class _Options:
    """The tolerances and switches of one assert_close call."""

    def __init__(self, rtol, atol, equal_nan, checks):
        self.rtol, self.atol, self.equal_nan, self.checks = rtol, atol, equal_nan, checks

    def tolerances(self, *dtypes):
        """rtol and atol: as given, or the widest default of the element types."""
        if self.rtol is not None:
            return self.rtol, self.atol
        found = [_DEFAULTS.get(str(d).rpartition(".")[2], (0.0, 0.0)) for d in dtypes]
        return max(r for r, _ in found), max(a for _, a in found)


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg=None,
) -> None:
    """Raises AssertionError unless |actual - expected| <= atol + rtol |expected| everywhere.

    Compares tensors (also shape and, unless switched off, device, element type, layout; with
    `check_stride` strides), Python numbers, numpy arrays, and sequences and mappings of them.
    Without rtol and atol, which go together, they follow from the element type: 1.3e-6 and 1e-5
    for float32, 1e-7 and 1e-7 for float64, 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for
    bfloat16, zero for whole numbers. `msg` replaces the text, or makes it from the generated one.
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        )
    checks = {
        "device": check_device,
        "dtype": check_dtype,
        "layout": check_layout,
        "stride()": check_stride,
    }
    options = _Options(rtol, atol, equal_nan, checks)
    try:
        _compare(actual, expected, options, allow_subclasses, ())
    except _Mismatch as found:
        text = found.text
        if found.path:
            keys = "".join(f"[{k!r}]" for k in found.path)
            text = f"{text}\n\nThe failure occurred for item {keys}"
        if msg is not None:
            text = msg(text) if callable(msg) else msg
        raise AssertionError(text) from None


def _compare(actual, expected, options, subclasses: bool, path: tuple) -> None:
    if _is_numpy_number(actual) and _is_numpy_number(expected):
        actual, expected = actual.item(), expected.item()
    if _both(actual, expected, Mapping):
        _compare_mappings(actual, expected, options, subclasses, path)
    elif _both(actual, expected, Sequence) and not _either(actual, expected, str):
        _compare_sequences(actual, expected, options, subclasses, path)
    elif _both(actual, expected, bool):
        if actual is not expected:
            raise _Mismatch(f"Booleans mismatch: {actual} is not {expected}", path)
    elif _both(actual, expected, (int, float, complex)):
        _compare_numbers(actual, expected, options, path)
    elif actual is None or expected is None:
        if actual is not expected:
            raise _Mismatch(f"None mismatch: {actual} is not {expected}", path)
    else:
        _compare_tensors(*_as_tensors(actual, expected, subclasses), options, path)


def _is_numpy_number(value) -> bool:
    kind = type(value)
    return kind.__module__ == "numpy" and kind.__name__ != "ndarray" and hasattr(value, "item")


def _both(actual, expected, kind) -> bool:
    return isinstance(actual, kind) and isinstance(expected, kind)


def _either(actual, expected, kind) -> bool:
    return isinstance(actual, kind) or isinstance(expected, kind)


def _as_tensors(actual, expected, subclasses: bool):
    """The pair as tensors; TypeError for what assert_close does not compare."""
    tensors = _both(actual, expected, torch.Tensor)
    if tensors and not subclasses:
        tensors = type(actual) is type(expected)
    if tensors:
        return actual, expected
    arrays = [type(x).__module__ == "numpy" and hasattr(x, "dtype") for x in (actual, expected)]
    if all(arrays):
        return torch.as_tensor(actual), torch.as_tensor(expected)
    raise TypeError(
        "No comparison pair was able to handle inputs of type "
        f"{_type_text(actual)} and {_type_text(expected)}."
    )


def _type_text(value) -> str:
    """The class of a value as PyTorch names it."""
    return str(type(value)).replace("<class 'rushlight.", "<class 'torch.")


def _compare_sequences(actual, expected, options, subclasses, path) -> None:
    if len(actual) != len(expected):
        raise _Mismatch(
            f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path
        )
    for k, (a, e) in enumerate(zip(actual, expected, strict=True)):
        _compare(a, e, options, subclasses, (*path, k))


def _compare_mappings(actual, expected, options, subclasses, path) -> None:
    missing = sorted(map(repr, set(expected) - set(actual)))
    extra = sorted(map(repr, set(actual) - set(expected)))
    if missing or extra:
        raise _Mismatch(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: [{', '.join(missing)}]\n"
            f"Additional keys in the actual mapping: [{', '.join(extra)}]",
            path,
        )
    for key in actual:
        _compare(actual[key], expected[key], options, subclasses, (*path, key))


def _number_dtype(number):
    kinds = {int: torch.int64, float: torch.float64, complex: torch.complex128}
    return next(d for k, d in kinds.items() if isinstance(number, k))


def _compare_numbers(actual, expected, options, path) -> None:
    if options.checks["dtype"] and type(actual) is not type(expected):
        raise _Mismatch(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    rtol, atol = options.tolerances(_number_dtype(actual), _number_dtype(expected))
    if _numbers_agree(actual, expected, rtol, atol, options.equal_nan):
        return
    raise _Mismatch(_scalar_text(actual, expected, rtol, atol), path)


def _numbers_agree(actual, expected, rtol, atol, equal_nan: bool) -> bool:
    if actual == expected:
        return True
    if equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return True
    gap = abs(actual - expected)
    return math.isfinite(gap) and gap <= atol + rtol * abs(expected)


def _scalar_text(actual, expected, rtol, atol) -> str:
    gap = abs(actual - expected)
    relative = gap / abs(expected) if expected else math.inf
    exact = rtol == 0 and atol == 0
    allowed = ("", "") if exact else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {gap}{allowed[0]}\n"
        f"Relative difference: {relative}{allowed[1]}"
    )


def _compare_tensors(actual, expected, options, path) -> None:
    _compare_attributes(actual, expected, options, path)
    if "meta" in (actual.device.type, expected.device.type):
        return
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    actual, expected = actual.detach(), expected.detach()
    if actual.dtype != expected.dtype:
        common = torch.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    if actual.dtype.is_floating_point and actual.dtype.itemsize == 1:
        _compare_bits(actual, expected, rtol, atol, options.equal_nan, path)
        return
    close = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if not bool(close.all()):
        raise _Mismatch(_tensor_text(actual, expected, close, rtol, atol), path)


def _compare_bits(actual, expected, rtol, atol, equal_nan: bool, path) -> None:
    """Floats of a byte, in which no difference can be computed."""
    if rtol or atol:
        raise _Mismatch(
            f"Rtol={rtol} and atol={atol} are not supported for bitwise comparison of low "
            "dimensional floats. Please use rtol=0.0 and atol=0.0.",
            path,
        )
    close = actual == expected
    if equal_nan:
        close = close | (actual.isnan() & expected.isnan())
    if bool(close.all()):
        return
    if not actual.dim():
        raise _Mismatch(_scalar_text(actual.item(), expected.item(), rtol, atol), path)
    total, off = close.numel(), (~close).reshape([-1]).nonzero()
    raise _Mismatch(
        "Tensor-likes are not 'equal'!\n\n"
        f"Mismatched elements: {len(off)} / {total} ({len(off) / total:.1%})\n"
        f"The first mismatched element is at index {_index(int(off[0].item()), close.shape)}.",
        path,
    )


def _compare_attributes(actual, expected, options, path) -> None:
    pairs = [("shape", actual.shape, expected.shape)]
    pairs += [
        (name, getattr(actual, name), getattr(expected, name))
        for name in ("device", "layout", "dtype")
        if options.checks[name]
    ]
    if options.checks["stride()"]:
        pairs.append(("stride()", actual.stride(), expected.stride()))
    for name, a, e in pairs:
        if a != e:
            raise _Mismatch(f"The values for attribute '{name}' do not match: {a} != {e}.", path)


def _tensor_text(actual, expected, close, rtol, atol) -> str:
    if not actual.dim():
        return _scalar_text(actual.item(), expected.item(), rtol, atol)
    if not actual.dtype.is_floating_point and not actual.dtype.is_complex:
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)
    total, off = close.numel(), int((~close).sum().item())
    gaps = torch.abs(actual - expected)
    gaps = torch.where(close, torch.zeros_like(gaps), gaps)
    relative = gaps / torch.abs(expected)
    relative = torch.where(close, torch.zeros_like(relative), relative)
    exact = rtol == 0 and atol == 0
    lines = [f"Mismatched elements: {off} / {total} ({off / total:.1%})"]
    for word, found, limit in (("absolute", gaps, atol), ("relative", relative, rtol)):
        place = int(torch.argmax(found.reshape([-1])).item())
        worst = found.reshape([-1])[place].item()
        allowed = "" if exact else f" (up to {limit} allowed)"
        where = _index(place, found.shape)
        lines.append(f"Greatest {word} difference: {worst} at index {where}{allowed}")
    return f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n" + "\n".join(lines)


def _index(place: int, shape) -> tuple:
    found = []
    for size in reversed(shape):
        place, k = divmod(place, size)
        found.append(k)
    return tuple(reversed(found))


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg="") -> None:
    """The older :func:`assert_close`: dtypes may differ, lists are converted (deprecated)."""
    import warnings

    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, torch.Tensor):
        actual = torch.tensor(actual)
    if not isinstance(expected, torch.Tensor):
        expected = torch.tensor(expected, dtype=actual.dtype)
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True,
        check_dtype=False, check_stride=False, msg=msg or None,
    )  # fmt: skip
