"""Dictionaries that hold their keys, compared by identity, weakly: tensors have no other."""

from __future__ import annotations

import collections.abc
import weakref

__all__ = [
    "TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary", "WeakTensorRef",
]  # fmt: skip


class WeakIdRef(weakref.ref):
    """A weak reference whose hash and equality are the identity of what it refers to."""

    __slots__ = ["_id"]

    def __init__(self, key, callback=None):
        self._id = id(key)
        super().__init__(key, callback)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, theirs = self(), other()
        return self is other if mine is None or theirs is None else mine is theirs


WeakTensorRef = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor; call it to get the tensor or None."""

    def __init__(self, tensor):
        self.ref = WeakIdRef(tensor)

    def __call__(self):
        return self.ref()


class WeakIdKeyDictionary(collections.abc.MutableMapping):
    """A dictionary from objects, by identity; an item goes with its key."""

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data: dict = {}
        self.ref_type = ref_type
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        def forget(reference, data=self.data):
            data.pop(reference, None)

        self.data[self.ref_type(key, forget)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        return self.ref_type(key) in self.data

    def __iter__(self):
        for reference in [*self.data]:
            key = reference()
            if key is not None:
                yield key

    def __len__(self):
        return sum(reference() is not None for reference in [*self.data])

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary
