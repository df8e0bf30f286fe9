"""Pickles that name things as PyTorch does: `torch.x` in the bytes, `rushlight.x` in memory."""

from __future__ import annotations

import io
import pickle

import rushlight as torch

from . import _weights_only_unpickler, storage

_PYTORCH_MODULES = {
    "UntypedStorage": "torch.storage",
    "TypedStorage": "torch.storage",
    "Parameter": "torch.nn.parameter",
}


def pytorch_module(module: str, name: str) -> str:
    """The module under which PyTorch has what is ``module.name`` here."""
    head, dot, tail = module.partition(".")
    if head not in ("rushlight", "torch") or tail == "cli":
        return module
    if name in _PYTORCH_MODULES:
        return _PYTORCH_MODULES[name]
    return "torch" if tail == "_C" else "torch" + dot + tail


def _rename_globals(data: bytes, named: set | None) -> bytes:
    """A pickle of protocol 2 or 3 with our module names replaced by PyTorch's.

    ``named`` holds the (module, name) pairs that were pickled, or None when unknown. Where each
    occurs once in the bytes, that one is it; else the opcodes tell names from text.
    """
    import re

    pattern = rb"c(rushlight[\w.]*)\n([\w.]+)\n"
    found = re.findall(pattern, data)
    if not found:
        return data

    def spell(match):
        module, name = match.group(1).decode(), match.group(2).decode()
        return f"c{pytorch_module(module, name)}\n{name}\n".encode()

    once = named is not None and len(set(found)) == len(found)
    if once and all((module.decode(), name.decode()) in named for module, name in found):
        return re.sub(pattern, spell, data)
    import pickletools

    parts, last = [], 0
    for opcode, _, position in pickletools.genops(data):
        if opcode.name == "GLOBAL" and (match := re.compile(pattern).match(data, position)):
            parts += [data[last:position], spell(match)]
            last = match.end()
    return b"".join(parts) + data[last:]


def _name_in_module(obj) -> tuple[str, str] | None:
    if isinstance(obj, type) or hasattr(obj, "__qualname__"):
        return getattr(obj, "__module__", ""), obj.__qualname__
    if isinstance(obj, torch.dtype):
        return type(obj).__module__, str(obj).rpartition(".")[2]
    return None


def pickled(obj, pickle_module, protocol: int, persistent_id) -> bytes:
    """The pickle of ``obj`` as PyTorch would name things in it."""
    buffer = io.BytesIO()
    if pickle_module is pickle and protocol >= 4:
        _framed_pickler()(buffer, protocol, persistent_id).dump(obj)
        return buffer.getvalue()
    named: set | None = None
    if pickle_module is pickle:
        named = set()

        class Pickler(pickle.Pickler):
            def reducer_override(self, obj):
                if (name := _name_in_module(obj)) is not None:
                    named.add(name)
                return NotImplemented

    else:

        class Pickler(pickle_module.Pickler):
            pass

    Pickler.persistent_id = lambda self, obj: persistent_id(obj)
    Pickler(buffer, protocol=protocol).dump(obj)
    data = buffer.getvalue()
    return _rename_globals(data, named) if protocol < 4 else data


def _framed_pickler():
    class Pickler(pickle._Pickler):
        # Names in protocol 4 are ordinary strings, so they are changed as they are written.
        def __init__(self, file, protocol, persistent_id):
            super().__init__(file, protocol=protocol)
            self.persistent_id = persistent_id

        def save_global(self, obj, name=None):
            name = name or getattr(obj, "__qualname__", None) or obj.__name__
            module = pickle.whichmodule(obj, name)
            if not module.startswith("rushlight"):
                return super().save_global(obj, name)
            self.save(pytorch_module(module, name))
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
            self.memoize(obj)

        dispatch = dict(pickle._Pickler.dispatch)
        dispatch[type(_framed_pickler)] = save_global

    return Pickler


def plain_unpickler(pickle_module):
    """An unpickler class that finds PyTorch's names here."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module, name):
            if module.partition(".")[0] == "torch":
                if "Storage" in name and name in storage.LEGACY_CLASSES:
                    return _weights_only_unpickler.StorageType(name)
                module = "rushlight" + module[5:]
                if module == "rushlight.tensor":
                    module = "rushlight._tensor"
            return super().find_class(module, name)

    return Unpickler
