"""Encoded summary values: precision-recall curves, tensors, raw histograms, layouts of charts."""

from __future__ import annotations

import rushlight as torch

from ._event_file import double, doubles, integer, nested
from .summary import _plugin, _value, float_tensor

__all__ = ["custom_scalars", "histogram_raw", "pr_curve", "pr_curve_raw", "tensor"]

# What stands in a divisor's place when nothing was counted.
_LEAST = 1e-7
_MOST_THRESHOLDS = 127


def _curve_value(tag: str, rows, thresholds: int) -> bytes:
    return _value(tag, float_tensor(rows), _plugin("pr_curves", integer(2, thresholds)))


def pr_curve(tag: str, labels, predictions, num_thresholds: int = 127, weights=None) -> bytes:
    """The curve of ``predictions`` (0 to 1) for 0/1 ``labels``, at evenly spaced thresholds."""
    count = min(num_thresholds, _MOST_THRESHOLDS)
    labels = torch.as_tensor(labels).detach().flatten().double()
    weights = 1.0 if weights is None else torch.as_tensor(weights).flatten().double()
    scaled = torch.as_tensor(predictions).detach().flatten() * (count - 1)
    buckets = scaled.floor().long().clamp(0, count - 1)

    def at_least(amounts):
        sums = torch.zeros(count, dtype=torch.float64).index_add_(0, buckets, amounts)
        return sums.flip(0).cumsum(0).flip(0)

    hits, misses = at_least(labels * weights), at_least((1 - labels) * weights)
    precision = hits / (hits + misses).clamp(min=_LEAST)
    recall = hits / (hits[0]).clamp(min=_LEAST)
    rows = (hits, misses, misses[0] - misses, hits[0] - hits, precision, recall)
    return _curve_value(tag, torch.stack(rows), count)


def pr_curve_raw(tag: str, *rows, num_thresholds: int = 127) -> bytes:
    """A curve from its six rows: the counts tp, fp, tn, fn, then precision and recall."""
    rows = torch.stack([torch.as_tensor(row).double() for row in rows])
    return _curve_value(tag, rows, min(num_thresholds, _MOST_THRESHOLDS))


def tensor(tag: str, value) -> bytes:
    """A tensor: integers stay integers, other numbers are written as float32."""
    value = torch.as_tensor(value).detach()
    if value.is_floating_point() or value.dtype == torch.bool:
        return _value(tag, float_tensor(value), _plugin("tensor"))
    shape = b"".join(nested(2, integer(1, n)) for n in value.shape)
    numbers = b"".join(integer(10, n) for n in value.flatten().tolist())
    return _value(tag, nested(8, integer(1, 9) + nested(2, shape) + numbers), _plugin("tensor"))


def histogram_raw(
    tag: str, low, high, num, total, total_squares, bucket_limits, bucket_counts
) -> bytes:
    """A histogram whose buckets were counted before."""
    if len(bucket_limits) != len(bucket_counts):
        raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
    fields = double(1, low) + double(2, high) + double(3, num)
    fields += double(4, total) + double(5, total_squares)
    fields += doubles(6, list(bucket_limits)) + doubles(7, list(bucket_counts))
    return _value(tag, nested(5, fields))


def custom_scalars(layout: dict) -> bytes:
    """Charts by category: {category: {title: [kind, tags]}}; kind is Multiline or Margin."""
    categories = b""
    for category, charts in layout.items():
        body = nested(1, category)
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
                series = b"".join(nested(i, tag) for i, tag in enumerate(tags, 1))
                content = nested(3, nested(1, series))
            else:
                content = nested(2, b"".join(nested(1, tag) for tag in tags))
            body += nested(2, nested(1, title) + content)
        categories += nested(2, body)
    text = integer(1, 7) + nested(2, b"") + nested(8, categories)
    return _value("custom_scalars__config__", nested(8, text), _plugin("custom_scalars"))
