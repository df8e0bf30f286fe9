"""Pickles that name things as PyTorch does: `torch.x` in the bytes, `rushlight.x` in memory."""

from __future__ import annotations

import io
import pickle

from . import _utils, _weights_only_unpickler, storage

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


class _NamedElsewhere(Exception):
    """Raised while pickling: an object says it lives in torch, which need not be importable."""


def _name_in_module(obj) -> tuple[str, str] | None:
    if isinstance(obj, type) or hasattr(obj, "__qualname__"):
        return getattr(obj, "__module__", None) or "", obj.__qualname__
    if isinstance(obj, _utils.named_types()):
        return type(obj).__module__, str(obj).rpartition(".")[2]
    return None


def pickled(obj, pickle_module, protocol: int, persistent_id) -> bytes:
    """The pickle of ``obj`` as PyTorch would name things in it."""
    if pickle_module is not pickle:
        return _pickled_by(pickle_module, obj, protocol, persistent_id)
    if protocol < 4:
        try:
            return _pickled_in_c(obj, protocol, persistent_id)
        except _NamedElsewhere:
            pass
    buffer = io.BytesIO()
    _naming_pickler()(buffer, protocol, persistent_id).dump(obj)
    return buffer.getvalue()


def _pickled_by(pickle_module, obj, protocol: int, persistent_id) -> bytes:
    class Pickler(pickle_module.Pickler):
        pass

    Pickler.persistent_id = lambda self, obj: persistent_id(obj)
    buffer = io.BytesIO()
    Pickler(buffer, protocol=protocol).dump(obj)
    data = buffer.getvalue()
    return _rename_globals(data, None) if protocol < 4 else data


def _pickled_in_c(obj, protocol: int, persistent_id) -> bytes:
    named: set = set()
    foreign = not _utils.torch_is_ours()

    class Pickler(pickle.Pickler):
        def reducer_override(self, obj):
            if (name := _name_in_module(obj)) is not None:
                if foreign and name[0].partition(".")[0] == "torch":
                    raise _NamedElsewhere
                named.add(name)
            elif foreign and type(obj).__module__ == "torch":
                raise _NamedElsewhere
            return NotImplemented

    Pickler.persistent_id = lambda self, obj: persistent_id(obj)
    buffer = io.BytesIO()
    Pickler(buffer, protocol=protocol).dump(obj)
    return _rename_globals(buffer.getvalue(), named)


def _naming_pickler():
    import copyreg

    class Pickler(pickle._Pickler):
        # Slower than C, but it changes names as it writes them and imports nothing to check.
        def __init__(self, file, protocol, persistent_id):
            super().__init__(file, protocol=protocol)
            self.persistent_id = persistent_id
            ours = _utils.named_types()
            self.dispatch_table = {
                kind: reduce for kind, reduce in copyreg.dispatch_table.items() if kind not in ours
            }

        def save_global(self, obj, name=None):
            name = name or getattr(obj, "__qualname__", None) or obj.__name__
            module = getattr(obj, "__module__", None) or ""
            if module.partition(".")[0] not in ("rushlight", "torch"):
                return super().save_global(obj, name)
            module = pytorch_module(module, name)
            if self.proto >= 4:
                self.save(module)
                self.save(name)
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
            self.memoize(obj)

        dispatch = {**pickle._Pickler.dispatch, type(_naming_pickler): save_global}

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
