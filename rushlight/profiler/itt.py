"""torch.profiler.itt: ranges for tools of Intel's, whose library is not there."""

from __future__ import annotations

import contextlib

_MISSING = "ITT functions not installed. Are you sure you have a ITT build?"


def is_available() -> bool:
    """Whether ranges reach Intel's tools: never."""
    return False


def range_push(msg):
    """Raises RuntimeError: there is no ITT library."""
    raise RuntimeError(_MISSING)


def range_pop():
    """Raises RuntimeError: there is no ITT library."""
    raise RuntimeError(_MISSING)


def mark(msg):
    """Raises RuntimeError: there is no ITT library."""
    raise RuntimeError(_MISSING)


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """Raises RuntimeError: there is no ITT library."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
