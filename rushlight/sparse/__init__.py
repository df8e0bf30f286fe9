"""Sparse layouts: refused. What takes dense tensors as well works on those."""

from __future__ import annotations

from rushlight import _C, _absent

_REASON = (
    "rushlight has strided tensors only. Use a dense tensor, or gather, scatter_add and index_add "
    "over index lists."
)


Tensor = _C.Tensor


def mm(input, mat2):
    """The product of two matrices, both strided here: ``torch.mm``."""
    return _C._VariableFunctions.mm(input, mat2)


spmm = mm


__getattr__ = _absent.names("sparse", _REASON)
