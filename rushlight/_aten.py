"""Overloads of the core's operators as torch.ops.aten gives them: signatures and calls."""

from __future__ import annotations

import functools
import lzma
from pathlib import Path

import rushlight as torch


class Argument:
    """One argument of a signature: its name, type, default and whether it is keyword-only."""

    __slots__ = ("default_value", "has_default", "kwarg_only", "name", "type", "writes")

    def __init__(self, text: str, kwarg_only: bool):
        text, has_default, default = text.partition("=")
        kind, _, self.name = text.strip().rpartition(" ")
        self.writes = "!" in kind
        self.type = _without_alias(kind)
        self.kwarg_only = kwarg_only
        self.has_default = bool(has_default)
        self.default_value = _value_of(default, self.type) if has_default else None

    def has_default_value(self) -> bool:
        """Whether the argument may be left out."""
        return self.has_default


class Schema:
    """A signature: ``name``, ``overload_name``, ``arguments`` and the number of results."""

    def __init__(self, text: str):
        self.text = text
        head, _, rest = text.partition("(")
        inside, _, results = rest.rpartition(") -> ")
        self.name, _, self.overload_name = head.partition(".")
        self.arguments: list = []
        kwarg_only = False
        for part in _split(inside):
            if part == "*":
                kwarg_only = True
            elif part:
                self.arguments.append(Argument(part, kwarg_only))
        self.results = results
        self.lists = "[]" in _without_alias(results)
        if results.startswith("("):
            results = results[1:-1]
        self.returns = [_without_alias(r.strip()) for r in _split(results) if r.strip()]
        self.positional = [a for a in self.arguments if not a.kwarg_only]
        self.is_mutable = any(a.writes for a in self.arguments)

    def __str__(self):
        return f"aten::{self.text}"

    __repr__ = __str__


def _without_alias(kind: str) -> str:
    while "Tensor(" in kind:
        before, _, rest = kind.partition("Tensor(")
        kind = f"{before}Tensor{rest.partition(')')[2]}"
    return kind


def _split(text: str) -> list:
    """What lies between the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


_NAMED = {
    "None": None, "True": True, "False": False, "contiguous_format": "contiguous_format",
    "strided": "strided", "inf": float("inf"), "Mean": 1, "long": "int64",
}  # fmt: skip


def _value_of(text: str, kind: str):
    text = text.strip()
    if text in _NAMED:
        value = _NAMED[text]
        return getattr(torch, value) if isinstance(value, str) and "?" not in kind else value
    if text.startswith("["):
        return [_value_of(each, kind) for each in text[1:-1].split(",") if each.strip()]
    if text[:1] in "\"'":
        return text[1:-1]
    try:
        value = int(text)
    except ValueError:
        return float(text)
    return float(value) if kind == "float" else value


@functools.cache
def _lines() -> tuple:
    """Per operator, its signatures as text: those that run here, and the others."""
    data = Path(__file__).with_name("_aten_schemas.xz").read_bytes()
    found: list = []
    for part in lzma.decompress(data).decode().split("\n\n"):
        of_part: dict = {}
        for line in part.split("\n"):
            of_part.setdefault(line.partition("(")[0].partition(".")[0], []).append(line)
        found.append(of_part)
    return tuple(found)


@functools.cache
def schemas(name: str) -> tuple:
    """The signatures of ``aten::name``; none where there is no such operator."""
    return tuple(Schema(line) for line in _lines()[0].get(name, ()))


@functools.cache
def all_schemas(name: str) -> tuple:
    """These, then those that write to ``out=`` and those of what Rushlight need not have."""
    return (*schemas(name), *(Schema(line) for line in _lines()[1].get(name, ())))


class CoreOverload:
    """One overload of an operator of the core, ``torch.ops.aten.name.overload``."""

    def __init__(self, packet, schema: Schema):
        self._overloadpacket = self.overloadpacket = packet
        self._schema = schema
        self._overloadname = schema.overload_name or "default"
        self._opname = schema.name
        self._name = f"aten::{schema.name}" + (
            f".{schema.overload_name}" if schema.overload_name else ""
        )
        self.__name__ = f"{schema.name}.{self._overloadname}"
        self.__qualname__ = self._name
        self.__module__ = "torch._ops.aten"
        self._defined_in_python = False

    @property
    def namespace(self) -> str:
        """``aten``."""
        return "aten"

    @functools.cached_property
    def _op(self):
        return call_of(self._schema)

    def __call__(self, /, *args, **kwargs):
        return self._op(*args, **kwargs)

    def name(self) -> str:
        """``aten::name.overload``; the overload's part is left out where it is the default."""
        return self._name

    def __str__(self):
        return f"aten.{self._opname}.{self._overloadname}"

    def __repr__(self):
        return f"<OpOverload(op='aten.{self._opname}', overload='{self._overloadname}')>"

    def __hash__(self):
        return hash(self._name)

    def __deepcopy__(self, memo=None):
        return self

    def __reduce__(self):
        return (overload, (self._opname, self._overloadname))


def overload(name: str, overload_name: str):
    """``torch.ops.aten.<name>.<overload_name>``."""
    return getattr(getattr(torch.ops.aten, name), overload_name)


def find(packet, name: str, overload_name: str):
    """The overload of this name, or None."""
    for schema in all_schemas(name):
        if (schema.overload_name or "default") == overload_name:
            return CoreOverload(packet, schema)
    return None


# Calls whose form differs from that of the function of the same name.


def _slice(x, dim=0, start=None, end=None, step=1):
    index = (slice(None),) * (dim % x.dim()) + (slice(start, end, step),)
    return x[index]


def _to(x, *args, dtype=None, layout=None, device=None, pin_memory=None, **options):
    options = {k: v for k, v in options.items() if v is not None}
    return x.to(dtype=dtype or x.dtype, device=device or x.device, **options)


def _assert_metadata(a, size=None, stride=None, dtype=None, *, device=None, layout=None):
    found = {"sizes": list(a.shape), "strides": list(a.stride()), "dtype": a.dtype,
             "layout": a.layout}  # fmt: skip
    expected = {"sizes": size, "strides": stride, "dtype": dtype, "layout": layout}
    for what, value in expected.items():
        if value is not None and found[what] != value:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {value}, Got: {found[what]}")


def _indices(x, indices):
    return tuple(slice(None) if i is None else i for i in indices)


def _assert_scalar(value, message):
    if not value:
        raise RuntimeError(message)


def _set_index_put(x, indices, values, accumulate=False):
    if any(i is None for i in indices):
        if accumulate:
            raise NotImplementedError("index_put_ with None and accumulate=True")
        x[_indices(x, indices)] = values
        return x
    return x.index_put_(tuple(indices), values, accumulate)


def _table() -> dict:
    return {
        "slice.Tensor": _slice,
        "to.dtype_layout": _to,
        "to.device": lambda x, device, dtype, *rest: x.to(device, dtype, *rest),
        "_assert_tensor_metadata": _assert_metadata,
        "_assert_scalar": _assert_scalar,
        "index.Tensor": lambda x, indices: x[_indices(x, indices)],
        "index_put_": _set_index_put,
        "_pin_memory": lambda x, device=None: x.pin_memory(),
        "lift_fresh_copy": lambda x: x.clone(),
        "lift_fresh": lambda x: x,
        "numpy_T": lambda x: x.T,
        "sym_size.int": lambda x, dim: x.size(dim),
        "sym_stride.int": lambda x, dim: x.stride(dim),
        "sym_numel": lambda x: x.numel(),
        "sym_storage_offset": lambda x: x.storage_offset(),
        "mT": lambda x: x.mT,
        "mH": lambda x: x.mH,
        "matrix_H": lambda x: x.H,
        "__and__.Tensor": lambda x, y: x & y,
        "__and__.Scalar": lambda x, y: x & y,
        "__or__.Tensor": lambda x, y: x | y,
        "__or__.Scalar": lambda x, y: x | y,
        "__xor__.Tensor": lambda x, y: x ^ y,
        "__xor__.Scalar": lambda x, y: x ^ y,
        "floor_divide": lambda x, y: x // y,
        "einsum": lambda equation, tensors, **_: torch.einsum(equation, *tensors),
        "meshgrid": lambda tensors: torch.meshgrid(*tensors),
        "meshgrid.indexing": lambda tensors, *, indexing: torch.meshgrid(
            *tensors, indexing=indexing
        ),
        "broadcast_tensors": lambda tensors: torch.broadcast_tensors(*tensors),
        "block_diag": lambda tensors: torch.block_diag(*tensors),
        "cartesian_prod": lambda tensors: torch.cartesian_prod(*tensors),
        "tensordot": lambda x, y, a, b: torch.tensordot(x, y, (a, b)),
        "cdist": lambda x, y, p=2.0, compute_mode=None: torch.cdist(x, y, p),
        "empty.memory_format": torch.empty,
        "pad": torch.nn.functional.pad,
    }


_calls: dict = {}


def call_of(schema: Schema):
    """The function that runs this overload."""
    from ._ops import _core_function

    if not _calls:
        _calls.update(_table())
    name = f"{schema.name}.{schema.overload_name}".rstrip(".")
    function = _calls.get(name)
    of_self = schema.arguments and schema.arguments[0].name == "self"
    in_place = schema.name.endswith("_") and not schema.name.startswith("_")
    if function is None and of_self and in_place:
        function = getattr(torch.Tensor, schema.name, None)
    function = function or _core_function(schema.name)
    if function is None:
        raise NotImplementedError(f"aten::{name} is not supported")
    if any(a.name == "reduction" for a in schema.positional):
        return _with_defaults(function, schema.positional)
    return function


def _with_defaults(function, positional: list):
    """A call that gives what is left out up to ``reduction``, as that is a number here."""
    last = next(i for i, a in enumerate(positional) if a.name == "reduction")

    def call(*args, **kwargs):
        rest = [a.default_value for a in positional[len(args) : last + 1] if a.name not in kwargs]
        return function(*args, *rest, **kwargs)

    return call
