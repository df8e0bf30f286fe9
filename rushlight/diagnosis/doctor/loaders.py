"""The program's loaders: where each was made, and what is known of those used last."""

from __future__ import annotations

import contextlib
import weakref

from .. import trial
from .calls import Site, here

MOST = 16  # loaders that are kept alive: a program may make one, and its data, in each epoch


class Loaders:
    """Where the program's loaders were made, as long as they live."""

    def __init__(self, watch):
        self._made = weakref.WeakKeyDictionary()
        watch.on("loader_made", self._note)

    def _note(self, loader) -> None:
        self._made[loader] = here()

    def made_at(self, loader) -> Site | None:
        return self._made.get(loader)


_lengths: dict[int, tuple] = {}  # by a dataset's id: a weak reference to it, and its length


def length_of(dataset) -> int | None:
    """How many rows a dataset has, None where it does not say.

    It is asked once, and not heard: a length of the program's own making may print.
    """
    known = _lengths.get(id(dataset))
    if known is not None and known[0]() is dataset:
        return known[1]
    length = trial.quietly(lambda: len(dataset)) if hasattr(type(dataset), "__len__") else None
    if len(_lengths) > MOST:
        _lengths.clear()
    with contextlib.suppress(TypeError):  # a list: its length is asked for anew
        _lengths[id(dataset)] = (weakref.ref(dataset), length)
    return length


class Recent(dict):
    """What is known of the loaders used last, by their ids: each entry has to hold its loader."""

    def entry(self, key, make):
        """The entry of a key, now the youngest; where it is new, ``make()``, and the oldest goes.

        An entry that had to go begins anew when its loader is used again.
        """
        found = self.pop(key, None)
        if found is None:
            found = make()
            if len(self) == MOST:
                del self[next(iter(self))]
        self[key] = found
        return found
