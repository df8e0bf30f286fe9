"""Reductions of segments and histograms over several dimensions."""

from __future__ import annotations

import math

import rushlight as torch

_REDUCES = {
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
    "prod": ("prod", 1.0),
}


def _refuse(wrong: bool, text: str, kind=RuntimeError) -> None:
    if wrong:
        raise kind(text)


def _lengths(data, lengths, offsets, axis: int, unsafe: bool):
    """The lengths of segments, checked; ``axis`` is their last dimension."""
    given = offsets if lengths is None else lengths
    kind = "offsets" if lengths is None else "lengths"
    _refuse(
        given is None, "segment_reduce(): Either lengths or offsets must be defined."
    )
    _refuse(
        given.dtype not in (torch.int64, torch.int32),
        f"segment_reduce(): expected {kind} of whole numbers, got {given.dtype}",
        NotImplementedError,
    )
    _refuse(
        given.dim() > data.dim(),
        f"segment_reduce(): {kind} has {given.dim()} dimensions, data has {data.dim()}",
    )
    _refuse(
        axis != given.dim() - 1,
        f"segment_reduce(): Expected axis to be the last dimension of {kind} but got {axis}.",
    )
    if lengths is None:
        return given.diff(dim=-1)
    if not unsafe:
        _refuse(bool((given < 0).any()), "lengths contains negative value!")
        _refuse(
            bool((given.sum(-1) != data.size(axis)).any()),
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            "data.size(lengths.dim()-1) when !unsafe.",
        )
    return given


def segment_reduce(
    data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None
):
    """Reduce runs of ``data`` along ``axis``.

    Args:
        data: floating tensor (..., n, ...) with n elements along ``axis``.
        reduce: ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"prod"``.
        lengths: of the segments, (..., s), which make up n; or
        offsets: where they begin and where the last one ends, (..., s + 1).
        initial: joins each segment; by default what changes nothing.

    Returns:
        A tensor (..., s, ...).
    """
    _refuse(
        reduce not in _REDUCES,
        f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}",
    )
    _refuse(
        indices is not None, "segment_reduce(): indices based reduction is not supported yet."
    )
    if data.dim():
        data.size(axis)  # raises
        axis %= data.dim()
    _refuse(
        not data.is_floating_point(),
        f'"_segment_reduce_cpu" not implemented for {data.dtype}',
        NotImplementedError,
    )
    starts = 0 if lengths is not None or offsets is None else offsets[..., :1]
    lengths = _lengths(data, lengths, offsets, axis, unsafe)
    ends = lengths.cumsum(-1) + starts
    places = torch.arange(data.size(axis)).expand(*lengths.shape[:-1], data.size(axis))
    index = torch.searchsorted(ends.contiguous(), places.contiguous(), right=True)
    # What lies before the first or after the last segment goes to one more, which is dropped.
    segments = lengths.size(-1)
    index = torch.where(places < starts, segments, index)
    index = index.view(*index.shape, *[1] * (data.dim() - axis - 1)).expand(data.shape)
    kind, start = _REDUCES[reduce]
    start = start if initial is None else initial
    shape = [*data.shape[:axis], segments + 1, *data.shape[axis + 1 :]]
    found = data.new_full(shape, start).scatter_reduce(axis, index, data, kind)
    found = found.narrow(axis, 0, segments)
    if reduce == "mean":
        counts = lengths.view(*lengths.shape, *[1] * (data.dim() - axis - 1))
        empty = found if initial is not None else torch.full_like(found, math.nan)
        found = torch.where(counts > 0, found / counts, empty)
    return found


def _outer_edges(points, range, dimensions: int):
    """The least and largest edge of each dimension, as lists."""
    if range is not None:
        _refuse(
            len(range) != 2 * dimensions,
            f"torch.histogramdd: for a {dimensions}-dimensional histogram range should have "
            f"{2 * dimensions} elements, but got {len(range)}",
        )
        low, high = list(range[::2]), list(range[1::2])
    elif points.numel() == 0:
        low, high = [0.0] * dimensions, [1.0] * dimensions
    else:
        low, high = (edge.tolist() for edge in torch.aminmax(points, dim=0))
    for d, (a, b) in enumerate(zip(low, high)):
        _refuse(
            not (math.isfinite(a) and math.isfinite(b)),
            f"torch.histogramdd: dimension {d}'s range [{a:g}, {b:g}] is not finite",
        )
        _refuse(
            a > b,
            f"torch.histogramdd: min should not exceed max, but got min {a:g} max {b:g} for "
            f"dimension {d}",
        )
        if a == b:
            low[d], high[d] = a - 0.5, b + 0.5
    return low, high


def _edges(points, bins, range, dimensions: int) -> list:
    """The edges of the bins of each dimension."""
    _refuse(
        len(bins) != dimensions,
        "histogramdd: The size of bins must be equal to the innermost dimension of the input.",
    )
    if all(isinstance(b, torch.Tensor) for b in bins):
        for d, edges in enumerate(bins):
            _refuse(
                edges.dtype != points.dtype,
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, "
                f"but got input with dtype {points.dtype} and bins for dimension {d} with dtype "
                f"{edges.dtype}",
            )
        return list(bins)
    for d, count in enumerate(bins):
        _refuse(
            count <= 0,
            f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}",
        )
    low, high = _outer_edges(points, range, dimensions)
    return [
        torch.linspace(a, b, count + 1, dtype=points.dtype)
        for a, b, count in zip(low, high, bins)
    ]


def _check_weight(input, weight) -> None:
    _refuse(
        weight.shape != input.shape[:-1],
        "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
        f"input tensor excluding its innermost dimension, but got input with shape "
        f"{list(input.shape)} and weight with shape {list(weight.shape)}",
    )
    _refuse(
        weight.dtype != input.dtype,
        "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should "
        f"have the same dtype, but got input({input.dtype}), and weight({weight.dtype})",
    )


def histogramdd(input, bins, range=None, weight=None, density=False):
    """How many points (..., d) fall into each bin of a grid of d dimensions.

    Args:
        input: floating tensor of points.
        bins: a count for all dimensions, a count for each, or the edges of each as tensors.
        range: the lowest and highest edge of each dimension in turn; the data's own by default.
        weight: what each point counts, (...).
        density: divide by the sum and by the bins' volumes.
    """
    _refuse(input.dim() < 2, "torch.histogramdd: input tensor should have at least 2 dimensions")
    _refuse(
        not input.is_floating_point(),
        f'"histogramdd" not implemented for {input.dtype}',
        NotImplementedError,
    )
    dimensions = input.size(-1)
    if weight is not None:
        _check_weight(input, weight)
        weight = weight.reshape(-1)
    points = input.detach().reshape(-1, dimensions)
    edges = _edges(points, [bins] * dimensions if isinstance(bins, int) else bins, range,
                   dimensions)  # fmt: skip
    inside = torch.ones(len(points), dtype=torch.bool)
    cell = torch.zeros(len(points), dtype=torch.int64)
    for d, e in enumerate(edges):
        x = points[:, d].contiguous()
        last = e.numel() - 2
        inside &= (x >= e[0]) & (x <= e[-1])
        cell = cell * (last + 1) + (torch.searchsorted(e, x, right=True) - 1).clamp(0, last)
    shape = [e.numel() - 1 for e in edges]
    weight = None if weight is None else weight[inside].double()
    hist = torch.bincount(cell[inside], weight, math.prod(shape)).double().view(shape)
    if density:
        hist /= hist.sum()
        for d, e in enumerate(edges):
            hist /= e.diff().double().view(-1, *[1] * (dimensions - d - 1))
    return torch.return_types.histogramdd(hist.to(input.dtype), tuple(edges))
