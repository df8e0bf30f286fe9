"""Named ranges of a program: written into every recording that runs; free when none does."""

from __future__ import annotations

import functools

# The recordings that run. Ranges, optimizers and loaders look here first.
recordings: list = []


class record_function:
    """Names a range of the program, as a context manager or a decorator.

    Args:
        name: shown in tables and traces.
        args: text of the caller's own; kept, not shown.
    """

    __slots__ = ("_entered", "args", "name")

    def __init__(self, name: str, args: str | None = None):
        self.name = name
        self.args = args
        self._entered = ()

    def __enter__(self):
        if recordings:
            self._entered = tuple(recordings)
            for recorder in self._entered:
                recorder.enter(self.name)
        return self

    def __exit__(self, *_):
        for recorder in self._entered:
            recorder.leave()
        self._entered = ()

    def __call__(self, function):
        @functools.wraps(function)
        def ranged(*args, **kwargs):
            if not recordings:
                return function(*args, **kwargs)
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return ranged
