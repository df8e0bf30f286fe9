"""Names that are given once: of nodes in a graph, of variables in generated code."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from typing import NamedTuple

import rushlight as torch


class _CustomBuiltin(NamedTuple):
    """A name that generated code may use without asking, and how code in a file gets it."""

    import_str: str
    obj: object


_custom_builtins: dict = {}


def _register_custom_builtin(name: str, import_str: str, obj) -> None:
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


def _register_defaults() -> None:
    from rushlight.utils import _pytree as pytree

    from . import _pytree as fx_pytree

    _register_custom_builtin("inf", "from math import inf", math.inf)
    _register_custom_builtin("nan", "from math import nan", math.nan)
    _register_custom_builtin("NoneType", "NoneType = type(None)", type(None))
    _register_custom_builtin("torch", "import torch", torch)
    _register_custom_builtin("device", "from torch import device", torch.device)
    _register_custom_builtin("fx_pytree", "import torch.fx._pytree as fx_pytree", fx_pytree)
    _register_custom_builtin("pytree", "import torch.utils._pytree as pytree", pytree)


_register_defaults()
_illegal_names = {name: object() for name in keyword.kwlist}
_illegal_names.update(vars(builtins))
_illegal_names.update({name: kept.obj for name, kept in _custom_builtins.items()})

_illegal_characters = re.compile(r"[^0-9a-zA-Z_]+")
_numbered = re.compile(r"^([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?$")


class _Namespace:
    """Gives names: a wished one, or where it is taken, with the next number behind it."""

    def __init__(self):
        self._obj_to_name: dict = {}
        self._used_names: set = set()
        self._base_count: dict = {}  # name without number -> last number given

    def create_name(self, candidate: str, obj) -> str:
        """A name like ``candidate``, from now on that of ``obj`` unless that is None."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        found = _numbered.match(candidate)
        if found is None:
            candidate = _illegal_characters.sub("_", candidate) or "_unnamed"
            if candidate[0].isdigit():
                candidate = f"_{candidate}"
            found = _numbered.match(candidate)
            if found is None:
                raise AssertionError(f"Name regex failed to match candidate: {candidate}")
        base, number = found.group(1), found.group(2)
        if number is None or candidate in self._used_names:
            count = self._base_count.get(base, 0)
            if number is not None:
                count = max(count, int(number))
        else:
            count = int(number)
        while candidate in self._used_names or _illegal_names.get(candidate, obj) is not obj:
            count += 1
            candidate = f"{base}_{count}"
        self._used_names.add(candidate)
        self._base_count[base] = count
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj) -> None:
        """Notes that ``obj`` has ``name``."""
        if obj in self._obj_to_name:
            raise AssertionError("obj is already associated")
        self._obj_to_name[obj] = name

    def _rename_object(self, obj, name: str) -> None:
        if obj not in self._obj_to_name:
            raise AssertionError(f"Object {obj} is not in _obj_to_name")
        self._obj_to_name[obj] = name
        self._used_names.add(name)
