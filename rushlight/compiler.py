"""Marks for compiled code; nothing is compiled, so they change nothing."""

from __future__ import annotations

__all__ = ["disable", "is_compiling", "is_dynamo_compiling", "is_exporting", "reset"]

from .functional import compile  # noqa: F401


def is_compiling() -> bool:
    """False."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Does nothing."""


def disable(fn=None, recursive: bool = True, *, reason=None):
    """Returns ``fn`` as it is."""
    return fn if fn is not None else lambda decorated: decorated


def allow_in_graph(fn):
    """Returns ``fn`` as it is."""
    return fn


assume_constant_result = allow_in_graph


def cudagraph_mark_step_begin() -> None:
    """Does nothing."""


def list_backends(exclude_tags=()) -> list:
    """An empty list."""
    return []
