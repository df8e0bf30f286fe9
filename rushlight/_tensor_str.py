"""How tensors print: PyTorch's layout, character for character."""

from __future__ import annotations

import math

import rushlight as torch

from . import _C

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


class _PrinterOptions:
    """The options in force; ``sci_mode`` None means the values decide."""

    def __init__(self):
        self.precision = 4
        self.threshold = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode = None


PRINT_OPTS = _PrinterOptions()


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """Sets how tensors print.

    Args:
        precision: digits after the point (default 4).
        threshold: more elements than this are summarised (default 1000).
        edgeitems: elements shown at each end of a summarised dimension (default 3).
        linewidth: characters per line (default 80).
        profile: ``default``, ``short`` or ``full``; the other arguments override it.
        sci_mode: scientific notation always (True), never (False), or as the values need (None).
    """
    given = {
        "precision": precision, "threshold": threshold, "edgeitems": edgeitems,
        "linewidth": linewidth,
    }  # fmt: skip
    chosen = dict(_PROFILES.get(profile, {}))
    chosen.update((name, value) for name, value in given.items() if value is not None)
    vars(PRINT_OPTS).update(chosen, sci_mode=sci_mode)


def get_printoptions() -> dict:
    """The options in force, as keyword arguments for ``set_printoptions``."""
    return dict(vars(PRINT_OPTS))


class printoptions:
    """Context manager that sets print options and restores them."""

    def __init__(self, **kwargs):
        self._options = kwargs

    def __enter__(self):
        self._saved = get_printoptions()
        set_printoptions(**self._options)

    def __exit__(self, *exc_info):
        set_printoptions(**self._saved)


class _Formatter:
    """Gives all of ``values``, a flat list of numbers, one width and one notation."""

    def __init__(self, values: list, floating: bool):
        self.floating = floating
        self.width = 1
        self.sci_mode = False
        self.int_mode = True
        if not floating:
            self.width = max([1, *map(len, map(str, values))])
            return
        finite = [value for value in values if value and math.isfinite(value)]
        if not finite:
            return
        self.int_mode = all(value.is_integer() for value in finite)
        self.sci_mode = PRINT_OPTS.sci_mode
        if self.sci_mode is None:
            smallest, largest = min(map(abs, finite)), max(map(abs, finite))
            self.sci_mode = largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4
        if self.sci_mode:
            spec, extra = f".{PRINT_OPTS.precision}e", 0
        elif self.int_mode:
            spec, extra = ".0f", 1  # one more for the point that marks a float
        else:
            spec, extra = f".{PRINT_OPTS.precision}f", 0
        self.width = max(1, max(len(format(value, spec)) for value in finite) + extra)

    def format(self, value) -> str:
        """``value`` right-aligned in the common width."""
        if not self.floating:
            text = str(value)
        elif self.sci_mode:
            text = format(value, f".{PRINT_OPTS.precision}e")
        elif self.int_mode:
            text = format(value, ".0f") + ("." if math.isfinite(value) else "")
        else:
            text = format(value, f".{PRINT_OPTS.precision}f")
        return text.rjust(self.width)


class _ComplexFormatter:
    """Formats complex numbers: the parts have a notation each."""

    def __init__(self, values: list):
        self._real = _Formatter([value.real for value in values], True)
        self._imag = _Formatter([value.imag for value in values], True)
        self.width = self._real.width + self._imag.width + 1

    def format(self, value) -> str:
        """``value`` as real part, sign, imaginary part and ``j``."""
        imag = self._imag.format(value.imag).lstrip() + "j"
        sign = "" if imag[0] in "+-" else "+"
        return self._real.format(value.real) + sign + imag


def _flatten(nested, dim: int) -> list:
    if dim == 0:
        return [nested]
    for _ in range(dim - 1):
        nested = [item for row in nested for item in row]
    return nested


def _edges(tensor):
    """The part of a large tensor that is shown."""
    edge = PRINT_OPTS.edgeitems
    for dim, size in enumerate(tensor.shape):
        if size > 2 * edge:
            ends = (tensor.narrow(dim, 0, edge), tensor.narrow(dim, size - edge, edge))
            tensor = torch.cat(ends, dim)
    return tensor


def _vector(values: list, cut: bool, indent: int, formatter) -> str:
    texts = [formatter.format(value) for value in values]
    if cut:
        texts.insert(PRINT_OPTS.edgeitems, " ...")
    per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (formatter.width + 2)))
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(values, cuts: list, indent: int, formatter) -> str:
    """The text of nested lists; ``cuts`` says per dimension whether the middle is left out."""
    if not cuts:
        return formatter.format(values)
    if len(cuts) == 1:
        return _vector(values, cuts[0], indent, formatter)
    texts = [_nested(value, cuts[1:], indent + 1, formatter) for value in values]
    if cuts[0]:
        texts.insert(PRINT_OPTS.edgeitems, "...")
    separator = "," + "\n" * (len(cuts) - 1) + " " * (indent + 1)
    return "[" + separator.join(texts) + "]"


def _tensor_str(tensor, indent: int) -> str:
    """The numbers of ``tensor`` in brackets, ``indent`` columns to the right."""
    if tensor.numel() == 0:
        return "[]"
    summarize = tensor.numel() > PRINT_OPTS.threshold
    shape = tensor.shape
    if summarize:
        if not PRINT_OPTS.edgeitems:
            return "[...]"
        tensor = _edges(tensor)
    values = tensor.tolist()
    flat = _flatten(values, len(shape))
    if tensor.dtype.is_complex:
        formatter = _ComplexFormatter(flat)
    else:
        formatter = _Formatter(flat, tensor.dtype.is_floating_point)
    cuts = [summarize and size > 2 * PRINT_OPTS.edgeitems for size in shape]
    return _nested(values, cuts, indent, formatter)


def _add_suffixes(text: str, suffixes: list, indent: int) -> str:
    parts = [text]
    line = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if line + len(suffix) + 2 > PRINT_OPTS.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            line = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            line += len(suffix) + 2
    return "".join(parts) + ")"


def _origin(tensor) -> list:
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError:  # a view made and then changed in place without recording
        return ["grad_fn=<Invalid>"]
    if grad_fn is not None:
        name = grad_fn.name().rpartition("::")[2]
        return [f"grad_fn=<{name}>"]
    return ["requires_grad=True"] if tensor.requires_grad else []


def _dtype_is_obvious(tensor, default) -> bool:
    default_complex = torch.complex128 if default == torch.float64 else torch.complex64
    return tensor.dtype in (default, default_complex, torch.int64, torch.bool)


def _describe(tensor, contents: str | None) -> str:
    kind = type(tensor)
    plain = kind is torch.Tensor or kind is torch.nn.Parameter
    prefix = "tensor(" if plain else kind.__name__ + "("
    # As a plain tensor, so that printing calls no override of a subclass.
    data = (tensor if plain else tensor.as_subclass(torch.Tensor)).detach()
    default = torch.get_default_dtype()
    suffixes = [] if data.device.type == "cpu" else [f"device='{data.device}'"]
    dtype, size = f"dtype={data.dtype}", f"size={tuple(data.shape)}"
    if data.is_meta:
        suffixes.append(size)
        if data.dtype != default:
            suffixes.append(dtype)
        text = "..."
    elif data.numel() == 0:
        # One empty dimension is what [] says; any other shape must be spelt out.
        if data.dim() != 1:
            suffixes.append(size)
        if data.dtype != default:
            suffixes.append(dtype)
        text = "[]"
    else:
        if not PRINT_OPTS.edgeitems:
            suffixes.append(size)
        if not _dtype_is_obvious(data, default):
            suffixes.append(dtype)
        text = None
    if contents is not None:
        text = contents
    elif text is None:
        text = _tensor_str(data, len(prefix))
    described = _add_suffixes(prefix + text, suffixes + _origin(tensor), len(prefix))
    if not plain and isinstance(tensor, torch.nn.Parameter):
        return f"Parameter({described})"
    return described


def _describe_wrapped(tensor, number: int, dual: bool, batched: bool, value, tangent) -> str:
    """A tensor inside of vmap or forward mode: what it holds."""
    text = _str(value)
    if batched:
        inner = text.replace("\n", "\n    ")
        return f"BatchedTensor(lvl={number}, bdim=0, value=\n    {inner}\n)"
    if not dual or not number or tangent is None:
        return text
    prefix = "tensor("
    body = text.removesuffix(")")
    return _add_suffixes(body, [f"tangent={_str(tangent)}"], len(prefix))


def _str_intern(inp, *, tensor_contents: str | None = None) -> str:
    """``repr`` of a tensor outside of all transforms: subclasses call it for their own."""
    return _describe(inp, tensor_contents)


def _str(tensor, *, tensor_contents: str | None = None) -> str:
    """``repr(tensor)``; ``tensor_contents`` stands for the numbers when given."""
    with torch.no_grad():
        wrapped = _C._wrapper(tensor)
        if wrapped is not None:
            return _describe_wrapped(tensor, *wrapped)
        return _describe(tensor, tensor_contents)
