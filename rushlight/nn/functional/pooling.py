"""Pooling: average, maximum, adaptive, fractional, power, and unpooling."""

from __future__ import annotations

import math

import rushlight as torch
from rushlight import _C

from ._shapes import _list_with_default, _pair, _single, _triple

_nn = _C._nn


def adaptive_avg_pool2d(input, output_size):
    """Average over (H, W) so that the result is ``output_size``; None keeps a size."""
    return _nn.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_avg_pool3d(input, output_size):
    """Average over (D, H, W) so that the result is ``output_size``; None keeps a size."""
    return _nn.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))


def max_pool1d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Maximum over windows of (L,) and its positions."""
    stride = [] if stride is None else stride
    return torch.max_pool1d_with_indices(
        input, kernel_size, stride, padding, dilation, ceil_mode
    )


def max_pool2d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Maximum over windows of (H, W) and its positions, flat in each plane."""
    stride = [] if stride is None else stride
    return _nn.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Maximum over windows of (D, H, W) and its positions, flat in each volume."""
    stride = [] if stride is None else stride
    return _nn.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Maximum over windows of (L,); with ``return_indices`` also its positions."""
    stride = [] if stride is None else stride
    pool = torch.max_pool1d_with_indices if return_indices else torch.max_pool1d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Maximum over windows of (H, W); with ``return_indices`` also its positions."""
    stride = [] if stride is None else stride
    pool = _nn.max_pool2d_with_indices if return_indices else torch.max_pool2d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Maximum over windows of (D, H, W); with ``return_indices`` also its positions."""
    stride = [] if stride is None else stride
    pool = _nn.max_pool3d_with_indices if return_indices else torch.max_pool3d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    """Maximum over (L,) so that the result is ``output_size``, and its positions."""
    return torch.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    """Maximum over (H, W) so that the result is ``output_size``, and its positions."""
    return _nn.adaptive_max_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    """Maximum over (D, H, W) so that the result is ``output_size``, and its positions."""
    return _nn.adaptive_max_pool3d(input, _list_with_default(output_size, input.size()))


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """Maximum over (L,) so that the result is ``output_size``."""
    result = torch.adaptive_max_pool1d(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Maximum over (H, W) so that the result is ``output_size``; None keeps a size."""
    result = adaptive_max_pool2d_with_indices(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """Maximum over (D, H, W) so that the result is ``output_size``; None keeps a size."""
    result = adaptive_max_pool3d_with_indices(input, output_size)
    return result if return_indices else result[0]


def _unpool_output_size(input, kernel_size, stride, padding, output_size):
    input_size = input.size()
    n = len(kernel_size)
    default = [
        (input_size[d - n] - 1) * stride[d] + kernel_size[d] - 2 * padding[d] for d in range(n)
    ]
    if output_size is None:
        result = default
    else:
        if len(output_size) == n + 2:
            output_size = output_size[2:]
        if len(output_size) != n:
            raise ValueError(
                f"output_size should be a sequence containing {n} or {n + 2} elements, "
                f"but it has a length of '{len(output_size)}'"
            )
        for d in range(n):
            low, high = default[d] - stride[d], default[d] + stride[d]
            if not low < output_size[d] < high:
                raise ValueError(
                    f'invalid output_size "{output_size}" '
                    f"(dim {d} must be between {low} and {high})"
                )
        result = output_size
    for d in range(n):
        if result[d] < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial "
                f"dimensions, but got output_size[{d}]={result[d]}"
            )
    return result


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Put each maximum back at its position of (L,), zeros elsewhere."""
    kernel_size = _single(kernel_size)
    stride = kernel_size if stride is None else _single(stride)
    padding = _single(padding)
    size = _unpool_output_size(input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool2d(
        input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]
    ).squeeze(-1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Put each maximum back at its position of (H, W), zeros elsewhere."""
    kernel_size = _pair(kernel_size)
    stride = kernel_size if stride is None else _pair(stride)
    padding = _pair(padding)
    size = _unpool_output_size(input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool2d(input, indices, size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Put each maximum back at its position of (D, H, W), zeros elsewhere."""
    kernel_size = _triple(kernel_size)
    stride = kernel_size if stride is None else _triple(stride)
    padding = _triple(padding)
    size = _unpool_output_size(input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool3d(input, indices, size, stride, padding)


def _lp(pooled, norm_type, count):
    return (torch.sign(pooled) * torch.relu(torch.abs(pooled))).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """p-norm over windows of (L,)."""
    stride = [] if stride is None else stride
    pooled = torch.avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _lp(pooled, norm_type, kernel_size)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """p-norm over windows of (H, W)."""
    stride = [] if stride is None else stride
    pooled = _nn.avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _lp(pooled, norm_type, math.prod(_pair(kernel_size)))


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """p-norm over windows of (D, H, W)."""
    stride = [] if stride is None else stride
    pooled = _nn.avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _lp(pooled, norm_type, math.prod(_triple(kernel_size)))


def _fractional(input, kernel_size, output_size, output_ratio, samples, n, name):
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    wide = _pair if n == 2 else _triple
    if output_size is None:
        if n == 2 and len(output_ratio) > 2:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of Ints."
            )
        ratio = wide(output_ratio)
        output_size = [int(input.size(d - n) * ratio[d]) for d in range(n)]
    if samples is None:
        batch = 1 if input.dim() == n + 1 else input.size(0)
        samples = torch.rand(
            batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device
        )
    pool = _nn.fractional_max_pool2d if n == 2 else _nn.fractional_max_pool3d
    return pool(input, kernel_size, output_size, samples)


def fractional_max_pool2d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
    _random_samples=None,
):  # fmt: skip
    """Maximum over windows placed at random (Graham 2015), and its positions."""
    return _fractional(
        input, kernel_size, output_size, output_ratio, _random_samples, 2, "fractional_max_pool2d"
    )


def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
    _random_samples=None,
):  # fmt: skip
    """Maximum over windows of (H, W) placed at random (Graham 2015)."""
    result = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, _random_samples=_random_samples
    )
    return result if return_indices else result[0]


def fractional_max_pool3d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
    _random_samples=None,
):  # fmt: skip
    """Maximum over windows of (D, H, W) placed at random, and its positions."""
    return _fractional(
        input, kernel_size, output_size, output_ratio, _random_samples, 3, "fractional_max_pool3d"
    )


def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
    _random_samples=None,
):  # fmt: skip
    """Maximum over windows of (D, H, W) placed at random."""
    result = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, _random_samples=_random_samples
    )
    return result if return_indices else result[0]
