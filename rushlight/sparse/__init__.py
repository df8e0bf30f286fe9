"""Sparse layouts: refused. What takes dense tensors as well works on those."""

from __future__ import annotations

from rushlight import _C, _absent

_REASON = (
    "rushlight has strided tensors only. Use a dense tensor, or gather, scatter_add and index_add "
    "over index lists."
)


def mm(input, mat2):
    """The product of two matrices, both strided here: ``torch.mm``."""
    return _C._VariableFunctions.mm(input, mat2)


spmm = mm


__getattr__ = _absent.names(
    "sparse", _REASON,
    "SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT "
    "SparseSemiStructuredTensorCUTLASS addmm as_sparse_gradcheck check_sparse_tensor_invariants "
    "hsmm hspmm log_softmax sampled_addmm smm softmax sparse_bsc_tensor sparse_bsr_tensor "
    "sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor spdiags "
    "spsolve sspaddmm sum to_sparse_semi_structured",
)  # fmt: skip

_absent.submodule("sparse.semi_structured", _REASON, "SparseSemiStructuredTensor "
                  "to_sparse_semi_structured")  # fmt: skip
