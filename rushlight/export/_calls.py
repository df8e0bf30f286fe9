"""A call of the program as an aten overload with PyTorch's arguments."""

from __future__ import annotations

import rushlight as torch
from rushlight._symbols import SymFloat, SymInt

from .. import _aten

_MISSING = object()
# Overloads that Python's functions never take.
_NUMBERED = ("add", "sub", "mul", "div", "floor_divide")
_UNUSED = {f"{name}{end}.Scalar" for name in _NUMBERED for end in ("", "_")}
_UNUSED |= {"copy_.Tensor", "copy_.int", "copy_.float", "numpy_T.a", "index.Tensor_hacked_twin"}
_UNUSED |= {"fill_.Tensor", "full_like.Tensor"}
_NAMES = {"self": ("input",), "dim": ("axis",), "keepdim": ("keepdims",), "other": ("x2",)}
_RENAMED = {"_invert": "bitwise_not"}


def bind(name: str, args: tuple, kwargs: dict):
    """(schema, positional arguments, keyword arguments), or None where no overload takes them."""
    name = _RENAMED.get(name, name)
    for numbers in (False, True):
        for schema in _ordered(name):
            found = _bound(schema, args, kwargs, numbers)
            if found is not None:
                return schema, *_without_defaults(schema, found)
    return None


def _ordered(name: str) -> list:
    found = [
        s for s in _aten.schemas(name)
        if f"{s.name}.{s.overload_name}" not in _UNUSED
    ]  # fmt: skip
    return sorted(found, key=lambda s: s.overload_name in ("correction", "padding_idx"))


def _bound(schema, args: tuple, kwargs: dict, numbers: bool) -> dict | None:
    """The arguments by name, if all fit."""
    positional = schema.positional
    given = list(args)
    found: dict = {}
    for i, argument in enumerate(positional):
        if not given:
            break
        whole = argument.type.endswith("[]") and argument.type.startswith(("int", "SymInt"))
        if whole and isinstance(given[0], (int, SymInt)):
            rest = positional[i + 1 :]
            if all(isinstance(g, (int, SymInt)) for g in given) and not rest:
                found[argument.name] = given
                given = []
                break
        found[argument.name] = given.pop(0)
    if given:
        return None
    rest = dict(kwargs)
    for argument in schema.arguments:
        for name in (argument.name, *_NAMES.get(argument.name, ())):
            if name in rest:
                if argument.name in found:
                    return None
                found[argument.name] = rest.pop(name)
    if any(v is not None and k not in ("out", "requires_grad", "dtype") for k, v in rest.items()):
        return None
    checked: dict = {}
    for argument in schema.arguments:
        value = found.get(argument.name, _MISSING)
        if value is _MISSING:
            if not argument.has_default:
                return None
            continue
        value = _converted(value, argument.type, numbers)
        if value is _MISSING:
            return None
        checked[argument.name] = value
    return checked


def _converted(value, kind: str, numbers: bool):
    """``value`` as an argument of this type, or _MISSING."""
    if kind.endswith("?"):
        if value is None:
            return None
        kind = kind[:-1]
    if kind.endswith("]"):
        return _converted_list(value, kind, numbers)
    whole = isinstance(value, (int, SymInt)) and not isinstance(value, bool)
    number = isinstance(value, (int, float, complex, SymInt, SymFloat))
    if kind == "Tensor":
        return value if isinstance(value, torch.Tensor) or (numbers and number) else _MISSING
    if kind in ("int", "SymInt"):
        return value if whole else _MISSING
    if kind == "Scalar":
        return value if number else _MISSING
    if kind == "float":
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        return value if isinstance(value, (SymInt, SymFloat)) else _MISSING
    if kind == "bool":
        return value if isinstance(value, bool) else _MISSING
    if kind == "str":
        return value if isinstance(value, str) else _MISSING
    if kind == "Device":
        if isinstance(value, (str, torch.device)):
            return torch.device(value)
        return _MISSING
    classes = {"ScalarType": torch.dtype, "Layout": torch.layout, "Generator": torch.Generator,
               "MemoryFormat": torch.memory_format}  # fmt: skip
    return value if kind in classes and isinstance(value, classes[kind]) else _MISSING


def _converted_list(value, kind: str, numbers: bool):
    element, _, length = kind[:-1].rpartition("[")
    if not isinstance(value, (list, tuple)):
        if isinstance(value, torch.Tensor) or not length:
            return _MISSING
        value = [value] * int(length)
    items = [_converted(v, element, False) for v in value]
    return _MISSING if any(i is _MISSING for i in items) else items


def _same(value, default) -> bool:
    if isinstance(value, list) and not isinstance(default, (list, type(None))):
        return all(type(v) is type(default) and v == default for v in value)
    if isinstance(value, (torch.Tensor, SymInt, SymFloat)):
        return False
    if isinstance(value, list) and any(isinstance(v, (torch.Tensor, SymInt)) for v in value):
        return False
    return type(value) is type(default) and value == default


def _without_defaults(schema, found: dict) -> tuple:
    """Positional and keyword arguments, without what the defaults give at the end."""
    args: list = []
    for argument in schema.positional:
        args.append(found.get(argument.name, argument.default_value))
    while args and len(args) > 0:
        argument = schema.positional[len(args) - 1]
        if not argument.has_default or not _same(args[-1], argument.default_value):
            break
        args.pop()
    kwargs = {}
    for argument in schema.arguments:
        if not argument.kwarg_only or argument.name not in found:
            continue
        if not _same(found[argument.name], argument.default_value):
            kwargs[argument.name] = found[argument.name]
    if any(a.name == "pin_memory" for a in schema.arguments):
        if not schema.name.startswith("new_") and not schema.name.endswith("_like"):
            kwargs.setdefault("device", torch.device("cpu"))
        kwargs.setdefault("pin_memory", False)
        order = [a.name for a in schema.arguments]
        kwargs = dict(sorted(kwargs.items(), key=lambda kv: order.index(kv[0])))
    return tuple(args), kwargs
