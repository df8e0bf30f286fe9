"""Numerical gradients along dimensions."""

from __future__ import annotations

import numbers

import rushlight as torch
from rushlight._ranges import record_function


@record_function("aten::gradient")
def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """The derivative along each dimension in ``dim`` (all), by second-order central differences.

    ``spacing`` is one step, a step for each dimension, or for each a 1-d tensor of coordinates;
    ``edge_order`` (1 or 2) is that of the one-sided differences at both ends.
    """
    if not isinstance(input, torch.Tensor):
        raise TypeError(
            "gradient(): argument 'input' (position 1) must be Tensor, "
            f"not {type(input).__name__}"
        )
    dims = _dims_of(input, dim)
    steps = _steps_of(input, spacing, dims, dim is not None)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if input.dtype == torch.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    for d, step in zip(dims, steps, strict=True):
        size = input.shape[d]
        if isinstance(step, torch.Tensor) and step.dim() > 0 and len(step) != size:
            raise RuntimeError(
                "torch.gradient expected each coordinate tensor to have the size of its dimension"
            )
        if size <= edge_order:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    return tuple(_along(input, d, s, edge_order) for d, s in zip(dims, steps, strict=True))


def _dims_of(input, dim):
    if dim is None:
        return list(range(input.dim()))
    dims = []
    for d in [dim] if isinstance(dim, int) else dim:
        if not -input.dim() <= d < input.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-input.dim()}, "
                f"{input.dim() - 1}], but got {d})"
            )
        d %= input.dim()
        if d in dims:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        dims.append(d)
    return dims


def _steps_of(input, spacing, dims, dim_given):
    if spacing is None:
        spacing = 1
    if isinstance(spacing, numbers.Number) or (
        isinstance(spacing, torch.Tensor) and spacing.dim() == 0
    ):
        return [spacing] * len(dims)
    steps = list(spacing)
    if len(steps) != len(dims):
        length = (
            f"a list of length equal to 'self.dim() = {input.dim()}', since dim argument was not "
            "given"
            if not dim_given
            else f"a list of length equal to the number of dims, {len(dims)}"
        )
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or {length}, "
            f"but got a list of length {len(steps)}"
        )
    return steps


def _along(x, d, step, edge_order):
    """The derivative of x along dimension d."""
    size = x.shape[d]

    def part(start, length):
        return x.narrow(d, start, length)

    if isinstance(step, torch.Tensor) and step.dim() > 0:
        gaps = step.diff()
        gaps = gaps.reshape([size - 1 if k == d else 1 for k in range(x.dim())])
        before, after = gaps.narrow(d, 0, size - 2), gaps.narrow(d, 1, size - 2)
        middle = _second_order(part, before, after, (0, 1, 2), size - 2)
        first, last = gaps.narrow(d, 0, 1), gaps.narrow(d, size - 2, 1)
        if edge_order == 1:
            ends = (
                (part(1, 1) - part(0, 1)) / first,
                (part(size - 1, 1) - part(size - 2, 1)) / last,
            )
        else:
            inner = gaps.narrow(d, 1, 1), gaps.narrow(d, size - 3, 1)
            ends = _edges(part, size, first, *inner, last)
        return torch.cat((ends[0], middle, ends[1]), d)
    middle = (part(2, size - 2) - part(0, size - 2)) / step / 2
    if edge_order == 1:
        ends = (part(1, 1) - part(0, 1)) / step, (part(size - 1, 1) - part(size - 2, 1)) / step
    else:
        ends = (
            (part(0, 1) * -1.5 + part(1, 1) * 2 - part(2, 1) * 0.5) / step,
            (part(size - 1, 1) * 1.5 - part(size - 2, 1) * 2 + part(size - 3, 1) * 0.5) / step,
        )
    return torch.cat((ends[0], middle, ends[1]), d)


def _second_order(part, h, k, starts, length):
    """The slope at the middle of three points that lie h and k apart."""
    a, b, c = (part(s, length) for s in starts)
    return -k / (h * (h + k)) * a + (k - h) / (h * k) * b + h / (k * (h + k)) * c


def _edges(part, size, h, k, p, q):
    """The slopes at both ends: gaps h and k at the first, p and q at the last."""
    first = (
        -(2 * h + k) / (h * (h + k)) * part(0, 1)
        + (h + k) / (h * k) * part(1, 1)
        - h / (k * (h + k)) * part(2, 1)
    )
    last = (
        q / (p * (p + q)) * part(size - 3, 1)
        - (p + q) / (p * q) * part(size - 2, 1)
        + (p + 2 * q) / (q * (p + q)) * part(size - 1, 1)
    )
    return first, last
