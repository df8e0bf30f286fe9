"""Losses' `reduction` argument: its codes, and the flags it replaced."""

from __future__ import annotations

_CODES = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction):
    """Return the code of a reduction: none 0, mean 1, sum 2."""
    code = _CODES.get(reduction)
    if code is not None:
        return code
    if reduction == "elementwise_mean":
        import warnings

        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=2,
        )
        return 1
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_get_string(size_average, reduce, emit_warning=True):
    """Translate the flags `size_average` and `reduce` into a reduction, with a warning."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    if size_average and reduce:
        reduction = "mean"
    elif reduce:
        reduction = "sum"
    else:
        reduction = "none"
    if emit_warning:
        import warnings

        warnings.warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{reduction}' instead.",
            stacklevel=2,
        )
    return reduction


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """The code of :func:`legacy_get_string`."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
