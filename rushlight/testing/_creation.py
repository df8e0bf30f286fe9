"""make_tensor: random tensors of a given shape, element type and range."""

from __future__ import annotations

import math
import warnings

import rushlight as torch


def make_tensor(
    *shape,
    dtype,
    device,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format=None,
):
    """A tensor of random numbers from [low, high), which is [-9, 9) for floats and complex
    numbers, [-9, 10) for signed and [0, 10) for unsigned integers, [0, 2) for bool.

    Args:
        shape: sizes, as several ints or one list.
        noncontiguous: every second element of a larger tensor is used.
        exclude_zero: zeros become 1, or the smallest normal number of a float type.

    Raises ValueError for an empty or unsupported range, NaN bounds, `requires_grad` of whole
    numbers, or `noncontiguous` together with `memory_format`.
    """
    if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
        shape = shape[0]
    shape = tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got {noncontiguous=} and {memory_format=}"
        )
    fractional = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not fractional:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, "
            f"but got {dtype=}"
        )
    low, high = _bounds(dtype, low, high)
    apart = noncontiguous and math.prod(shape) > 1
    drawn = (*shape[:-1], 2 * shape[-1]) if apart else shape
    made = _draw(drawn, dtype, device, low, high)
    if apart:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = torch.finfo(dtype).tiny if fractional else 1
    if fractional:
        made.requires_grad_(requires_grad)
    return made


def _bounds(dtype, low, high):
    """The interval to draw from: defaults filled in, checked, cut to what the type holds."""
    if dtype.is_floating_point or dtype.is_complex:
        limits = torch.finfo(dtype)
        least, greatest, usual = limits.min, limits.max, (-9, 9)
    elif dtype == torch.bool:
        least, greatest, usual = 0, 2, (0, 2)
    else:
        limits = torch.iinfo(dtype)
        least, greatest = limits.min, limits.max + 1
        usual = (0, 10) if limits.min == 0 else (-9, 10)
    low = usual[0] if low is None else low
    high = usual[1] if high is None else high
    if any(isinstance(x, float) and math.isnan(x) for x in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if low > high or (low == high and whole):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if low == high:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    if high < least or low >= greatest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{least}, {greatest})"
        )
    low, high = max(low, least), min(high, greatest)
    return (math.ceil(low), math.ceil(high)) if whole else (low, high)


def _draw(shape, dtype, device, low, high):
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.randint(low, high, shape, device=device, dtype=dtype)
    made = torch.empty(shape, device=device, dtype=dtype)
    parts = torch.view_as_real(made) if dtype.is_complex else made
    if high - low >= torch.finfo(dtype).max:  # the width itself would overflow
        parts.uniform_(low / 2, high / 2).mul_(2)
    else:
        parts.uniform_(low, high)
    return made
