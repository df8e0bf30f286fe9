"""The checkpoint format before zip: pickles one after the other, then the storages' bytes."""

from __future__ import annotations

import struct
import sys

import rushlight as torch

from . import _weights_only_unpickler as _wo
from . import storage
from ._pickled_names import pickled, plain_unpickler
from ._saved_storages import StorageTable, ascii_text, storage_bytes, storage_element

# PyTorch's marks of this format (torch/serialization.py).
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def legacy_checkpoint(obj, pickle_module, protocol: int):
    """A function ``write(sink, name)`` that writes ``obj`` in this format."""
    table = StorageTable(key_is_address=True)

    def persistent_id(item):
        described = table.describe(item)
        return None if described is None else ("storage", *described, None)

    data = pickled(obj, pickle_module, protocol, persistent_id)
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }

    def write(sink, name: str) -> None:
        for value in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
            sink(pickle_module.dumps(value, protocol=protocol))
        sink(data)
        keys = sorted(table.storages)
        sink(pickle_module.dumps(keys, protocol=protocol))
        for key in keys:
            untyped, dtype = table.storages[key]
            sink(struct.pack("<q", untyped.nbytes() // dtype.itemsize))
            sink(storage.raw_view(untyped))

    return write


class _Storages:
    """Storages that the pickle names; their bytes follow it in the file."""

    def __init__(self, restore, limit: int):
        self._restore = restore
        self._left = limit
        self.loaded: dict = {}
        self.to_fill: dict = {}
        self._views: dict = {}

    def find(self, saved_id):
        """The typed storage (or view of one) that a persistent id names."""
        if not isinstance(saved_id, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved_id).__name__}")
        typename = ascii_text(saved_id[0])
        if typename == "module":
            return saved_id[1]
        if typename != "storage":
            raise RuntimeError(f"Unknown saved id type: {saved_id[0]}")
        kind, key, location, count, view = saved_id[1:]
        dtype, key = storage_element(kind), str(key)
        if key not in self.loaded:
            self._left -= (nbytes := storage_bytes(count, dtype))
            if self._left < 0:
                raise RuntimeError("the file is too short for the storages it names")
            untyped = torch.UntypedStorage(nbytes)
            placed = self._restore(untyped, ascii_text(location))
            self.to_fill[key] = (placed if placed.device.type == "cpu" else untyped, dtype)
            self.loaded[key] = storage.TypedStorage(
                wrap_storage=placed, dtype=dtype, _internal=True
            )
        return self.loaded[key] if view is None else self._view(key, dtype, *view)

    def _view(self, key, dtype, view_key, offset, size):
        if view_key not in self._views:
            start, length = (storage_bytes(n, dtype) for n in (offset, size))
            root = self.loaded[key]._untyped_storage
            self._views[view_key] = storage.TypedStorage(
                wrap_storage=root[start : start + length], dtype=dtype, _internal=True
            )
        return self._views[view_key]


def legacy_load(file, restore, pickle_module, load_args):
    """Reads this format from ``file``; ``pickle_module`` None means weights only."""
    start = file.tell()
    file.seek(0, 2)
    length = file.tell() - start
    file.seek(start)
    if start == 0 and _is_tar(file):
        raise RuntimeError("files saved in the legacy .tar format cannot be loaded")

    def read(persistent_load=None):
        if pickle_module is None:
            unpickler = _wo.Unpickler(file, encoding=load_args["encoding"])
        else:
            unpickler = plain_unpickler(pickle_module)(file, **load_args)
        if persistent_load is not None:
            unpickler.persistent_load = persistent_load
        return unpickler.load()

    if read() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    if (version := read()) != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    system = read()
    storages = _Storages(restore, length)
    result = read(storages.find)
    swap = system.get("little_endian", True) != (sys.byteorder == "little")
    for key in read():
        _fill(file, *storages.to_fill[str(key)], swap)
    return result


def _is_tar(file) -> bool:
    head = file.read(512)
    file.seek(0)
    return head[257:262] == b"ustar"


def _fill(file, untyped, dtype, swap: bool) -> None:
    head = file.read(8)
    view = storage.raw_view(untyped)
    if len(head) != 8 or struct.unpack("<q", head)[0] * dtype.itemsize != view.nbytes:
        raise RuntimeError("storage has wrong byte size: the file is damaged")
    done = 0
    while done < view.nbytes:
        part = file.read(min(view.nbytes - done, 1 << 24))
        if not part:
            raise RuntimeError("unexpected EOF: the file is damaged")
        view[done : done + len(part)] = part
        done += len(part)
    if swap:
        untyped.byteswap(dtype)
