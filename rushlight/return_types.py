"""The named tuples that ops give: ``torch.return_types.max`` and its like."""

from __future__ import annotations

from typing import NamedTuple

from . import _C


class histogramdd(NamedTuple):
    hist: _C.TensorBase
    bin_edges: tuple

    def __repr__(self):
        return f"torch.return_types.histogramdd(\nhist={self.hist},\nbin_edges={self.bin_edges})"


def __getattr__(name: str):
    found = _C._return_type(name)
    globals()[name] = found
    return found
