"""Why it went wrong: errors explained, a doctor for programs, answers about tensors."""

from __future__ import annotations

__all__ = ["kinds"]


def kinds() -> dict:
    """All kinds of findings by id, each with a title and a text that explains it in full."""
    from . import errors
    from .doctor import load_checks
    from .registry import KINDS

    errors.load()
    load_checks()
    return KINDS
