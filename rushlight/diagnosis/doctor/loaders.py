"""The program's loaders: where each was made, and what is known of those used last."""

from __future__ import annotations

import weakref

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
