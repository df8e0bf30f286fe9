"""Encoded summary values: scalars, histograms, images, texts, hyperparameters."""

from __future__ import annotations

import functools
import struct
import zlib

import rushlight as torch

from ._event_file import double, doubles, integer, nested, single

__all__ = ["histogram", "hparams", "image", "scalar", "text"]


def _value(tag: str, content: bytes, metadata: bytes = b"") -> bytes:
    body = nested(1, tag) + (nested(9, metadata) if metadata else b"")
    return nested(1, body + content)


def _plugin(name: str, content: bytes = b"") -> bytes:
    """The metadata that tells TensorBoard which of its parts shows the value."""
    return nested(1, nested(1, name) + (nested(2, content) if content else b""))


def number(value) -> float:
    """A number, tensor or array of one element as a float."""
    if hasattr(value, "item"):
        if getattr(value, "size", 1) != 1 and getattr(value, "numel", lambda: 2)() != 1:
            raise AssertionError("scalar should be 0D")
        value = value.item()
    return float(value)


def scalar(tag: str, value, new_style: bool = False, double_precision: bool = False) -> bytes:
    """A number over steps."""
    value = number(value)
    if not new_style:
        return _value(tag, single(2, value))
    kind = (2, "<d") if double_precision else (1, "<f")
    tensor = integer(1, kind[0]) + nested(2, b"") + nested(4, struct.pack(kind[1], value))
    return _value(tag, nested(8, tensor), _plugin("scalars"))


@functools.cache
def _geometric_edges() -> list[float]:
    """TensorBoard's usual edges: 0 and plus and minus 1e-12 times the powers of 1.1 up to 1e20."""
    edges, edge = [], 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [-e for e in reversed(edges)] + [0.0] + edges


def _edges(values, bins) -> list[float]:
    low, high = values.min().item(), values.max().item()
    if bins == "tensorflow":
        return _geometric_edges()
    if not isinstance(bins, int):
        import numpy

        return numpy.histogram_bin_edges(values.numpy(), bins=bins).tolist()
    if low == high:
        low, high = low - 0.5, high + 0.5
    return [low + (high - low) * i / bins for i in range(bins)] + [high]


def _bins(values, bins, max_bins):
    """(values, counts, upper edges), from an empty bin below the least to the largest value."""
    values = torch.as_tensor(values).detach().double().flatten()
    if values.numel() == 0:
        raise ValueError("The input has no element.")
    edges = _edges(values, bins)
    places = torch.bucketize(values, torch.tensor(edges, dtype=torch.float64), right=True) - 1
    places[values == edges[-1]] = len(edges) - 2  # the last bin has its upper edge
    places = places[(places >= 0) & (places < len(edges) - 1)]
    counts = torch.bincount(places, minlength=len(edges) - 1).tolist()
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        counts = [sum(counts[i : i + step]) for i in range(0, len(counts), step)]
        edges = [*edges[:-1:step], edges[-1]]
    used = [i for i, count in enumerate(counts) if count]
    if not used:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = used[0], used[-1]
    below = [counts[first - 1]] if first > 0 else [0]
    return values, below + counts[first : last + 1], edges[first : last + 2]


def histogram(tag: str, values, bins="tensorflow", max_bins=None) -> bytes:
    """The distribution of values, in TensorBoard's bins or in ``bins`` of equal width."""
    values, counts, edges = _bins(values, bins, max_bins)
    extremes = (values.min().item(), values.max().item())
    body = b"".join(double(i + 1, x) for i, x in enumerate(extremes))
    body += double(3, values.numel()) + double(4, values.sum().item())
    body += double(5, (values * values).sum().item()) + doubles(6, edges) + doubles(7, counts)
    return _value(tag, nested(5, body))


def _png(pixels, height: int, width: int, channels: int) -> bytes:
    """Pixels, row by row, as a PNG file."""
    kind = {1: 0, 3: 2, 4: 6}[channels]

    def chunk(name: bytes, data: bytes) -> bytes:
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    step = width * channels
    rows = b"".join(b"\0" + pixels[i * step : (i + 1) * step] for i in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def picture(tensor, rescale=1, dataformats: str = "NCHW"):
    """A picture, or several beside each other, as (H, W, C) of bytes."""
    tensor = torch.as_tensor(tensor).detach()
    dataformats = dataformats.upper()
    if tensor.dim() != len(dataformats):
        raise AssertionError(
            f"size of input tensor and input format are different. "
            f"tensor shape: {tuple(tensor.shape)}, input_format: {dataformats}"
        )
    order = [dataformats.index(letter) for letter in "NHWC" if letter in dataformats]
    tensor = tensor.permute(order)
    if "C" not in dataformats:
        tensor = tensor.unsqueeze(-1)
    if "N" in dataformats:
        tensor = torch.cat(tuple(tensor.unbind(0)), 1)
    scale = 1 if tensor.dtype == torch.uint8 else 255 * rescale
    return (tensor.float() * scale).clamp(0, 255).to(torch.uint8).contiguous()


def png(pixels) -> bytes:
    """A PNG file's bytes for (H, W, C) of bytes."""
    return _png(bytes(pixels.flatten().tolist()), *pixels.shape)


def image(tag: str, tensor, rescale=1, dataformats: str = "NCHW") -> bytes:
    """A picture, or several beside each other; floats are 0 to 1, bytes 0 to 255."""
    pixels = picture(tensor, rescale, dataformats)
    sizes = b"".join(integer(i, n) for i, n in enumerate(pixels.shape, 1))
    return _value(tag, nested(4, sizes + nested(4, png(pixels))))


def float_tensor(tensor) -> bytes:
    """The field of a value that holds a tensor's numbers as float32."""
    shape = b"".join(nested(2, integer(1, n)) for n in tensor.shape)
    numbers = tensor.detach().float().flatten().tolist()
    packed = nested(5, struct.pack(f"<{len(numbers)}f", *numbers))
    return nested(8, integer(1, 1) + nested(2, shape) + packed)


def text(tag: str, content: str) -> bytes:
    """A text, which TensorBoard reads as Markdown."""
    shape = nested(2, nested(2, integer(1, 1)))
    tensor = integer(1, 7) + shape + nested(8, content)
    return _value(f"{tag}/text_summary", nested(8, tensor), _plugin("text", b"\x08\x00"))


def _struct_value(value) -> bytes:
    if isinstance(value, str):
        return nested(3, value)
    if isinstance(value, (int, float, torch.Tensor)):
        return double(2, number(value))
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def _choices(value, choices) -> bytes:
    """The values that a setting may have, all of its kind."""
    kind = (int, float) if isinstance(value, (int, float)) else type(value)
    if not all(isinstance(choice, kind) for choice in choices):
        raise TypeError(
            f"parameter: hparam_domain_discrete should be a list of {type(value).__name__}"
        )
    return nested(5, b"".join(nested(1, _struct_value(choice)) for choice in choices))


def hparams(hparam_dict: dict, metric_dict: dict, hparam_domain_discrete=None) -> tuple:
    """Three values: the experiment, the start of a session with its settings, and its end."""
    for given, name in ((hparam_dict, "hparam_dict"), (metric_dict, "metric_dict")):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError(
            "parameter: hparam_domain_discrete should be a dictionary, nothing logged."
        )
    infos, settings = b"", b""
    for key, value in hparam_dict.items():
        if value is None:
            continue
        info = nested(1, key) + integer(4, 1 if isinstance(value, str) else 3)
        if key in domains:
            info += _choices(value, domains[key])
        infos += nested(4, info)
        settings += nested(1, nested(1, key) + nested(2, _struct_value(value)))
    metrics = b"".join(nested(5, nested(1, nested(2, key))) for key in metric_dict)
    parts = (
        ("experiment", nested(2, infos + metrics)),
        ("session_start_info", nested(3, settings)),
        ("session_end_info", nested(4, integer(1, 1))),
    )
    return tuple(
        _value(f"_hparams_/{name}", b"", _plugin("hparams", body)) for name, body in parts
    )
