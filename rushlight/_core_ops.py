"""The core's ops that have no public name."""

from __future__ import annotations

from . import _C


def core_op(name):
    """The op called ``name``, or None where the core lacks it."""
    op = getattr(getattr(_C, "_ops", None), name, None)
    return op if op is not None else getattr(_C, "_ops_table", {}).get(name)
