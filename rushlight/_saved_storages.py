"""Storages in checkpoints: their keys when they are saved, and what a persistent id says of one."""

from __future__ import annotations

import pickle

import rushlight as torch

from . import storage
from ._locations import location_tag


class StorageTable:
    """Numbers the storages of an object that is being saved, and checks that types agree."""

    def __init__(self, key_is_address: bool = False):
        self.storages: dict = {}  # key -> (untyped storage, dtype)
        self._key_is_address = key_is_address
        self._keys: dict = {}
        self._dtypes: dict = {}

    def describe(self, obj):
        """(class, key, location, elements) of a storage; None for any other object."""
        if type(obj) is storage.TypedStorage:
            untyped, dtype = obj._untyped_storage, obj.dtype
            kind = storage.LEGACY_CLASSES[obj._pickle_storage_type()]
            count = obj._size()
        elif isinstance(obj, torch.UntypedStorage):
            untyped, dtype, kind, count = obj, torch.uint8, torch.UntypedStorage, obj.nbytes()
        else:
            return None
        on_meta = untyped.device.type == "meta"
        address = 0 if on_meta else untyped.data_ptr()
        if address and self._dtypes.setdefault(address, dtype) != dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that "
                "view the same data as different types"
            )
        identity = id(untyped)  # kept in `storages`, so no other object gets it
        key = str(identity if self._key_is_address else len(self._keys))
        key = self._keys.setdefault(identity, key)
        self.storages[key] = (untyped, dtype)
        return kind, key, location_tag(untyped), count


def storage_element(kind) -> object:
    """The dtype of a storage class as it stands in a persistent id."""
    if kind is torch.UntypedStorage:
        return torch.uint8
    if not isinstance(getattr(kind, "dtype", None), torch.dtype):
        raise pickle.UnpicklingError(f"{kind} is no storage type")
    return kind.dtype


def ascii_text(text) -> str:
    """Text that Python 2 may have stored as bytes."""
    return text.decode("ascii") if isinstance(text, bytes) else text


def storage_bytes(count, dtype) -> int:
    """The bytes of ``count`` elements, a number that came from a file."""
    if type(count) is not int or count < 0:
        raise RuntimeError(f"a storage cannot have {count!r} elements")
    return count * dtype.itemsize
