"""The named tuples that ops give: ``torch.return_types.max`` and its like."""

from __future__ import annotations

from . import _C


def __getattr__(name: str):
    found = _C._return_type(name)
    globals()[name] = found
    return found
