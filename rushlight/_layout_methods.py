"""Methods of sparse and quantised tensors, as they answer for the strided ones that all are."""

from __future__ import annotations

import rushlight as torch

_COMPRESSED_ROWS = "sparse row compressed tensor layout"
_COMPRESSED_COLUMNS = "sparse column compressed tensor layout"
_COORDINATES = "sparse coordinate tensor layout"
_LAYOUT_OF = {
    "ccol_indices": _COMPRESSED_COLUMNS,
    "coalesce": _COORDINATES,
    "col_indices": _COMPRESSED_ROWS,
    "crow_indices": _COMPRESSED_ROWS,
    "indices": _COORDINATES,
    "is_coalesced": _COORDINATES,
    "row_indices": _COMPRESSED_COLUMNS,
    "values": "sparse tensor layout",
}
_NEEDS_SPARSE = (
    "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_", "_indices", "_values", "_nnz",
    "to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr",
    "to_sparse_bsc", "to_mkldnn", "to_padded_tensor",
)  # fmt: skip
_QUANTISED = (
    "q_scale", "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points",
    "q_per_channel_axis", "int_repr", "qscheme",
)  # fmt: skip
_REMOVED = {
    "eig": "torch.linalg.eig",
    "lstsq": "torch.linalg.lstsq",
    "solve": "torch.linalg.solve",
    "symeig": "torch.linalg.eigh",
}


def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor itself, as ``dtype``: it is dense."""
    return self if dtype is None else self.to(dtype)


def dequantize(self):
    """The tensor itself as float32: it holds numbers."""
    return self if self.dtype is torch.float32 else self.to(torch.float32)


def sparse_dim(self):
    """0."""
    return 0


def dense_dim(self):
    """The number of dimensions."""
    return self.dim()


def resize(self, *sizes):
    """A view of other sizes with as many elements; deprecated, as in PyTorch."""
    import warnings

    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    sizes = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    count = 1
    for size in sizes:
        count *= size
    if count != self.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, sizes))} ({count} elements in total), but the "
            f"given tensor has a size of {'x'.join(map(str, self.shape))} ({self.numel()} "
            "elements). autograd's resize can only change the shape of a given tensor, while "
            "preserving the number of elements. "
        )
    return self.contiguous().view(sizes)


def resize_as(self, tensor):
    """A view with the sizes of ``tensor``; deprecated, as in PyTorch."""
    return self.resize(tensor.size())


def record_stream(self, stream):
    """Does nothing: on the CPU, memory is used in order."""


def _of_layout(name: str):
    def method(self, *args, **kwargs):
        raise RuntimeError(f"{name} expected {_LAYOUT_OF[name]} but got Strided")

    return method


def _needs(name: str, what: str):
    def method(self, *args, **kwargs):
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: rushlight has no "
            f"{what} tensors. Use the dense tensor as it is."
        )

    method._refusal = what
    return method


def _removed(name: str):
    def method(self, *args, **kwargs):
        raise RuntimeError(
            "This function was deprecated since version 1.9 and is now removed. "
            f"`torch.{name}` is deprecated in favor of `{_REMOVED[name]}`."
        )

    return method


METHODS = [to_dense, dequantize, sparse_dim, dense_dim, resize, resize_as, record_stream]


def _named(name: str, method) -> None:
    method.__name__ = method.__qualname__ = name
    METHODS.append(method)


for _name in _LAYOUT_OF:
    _named(_name, _of_layout(_name))
for _name in _NEEDS_SPARSE:
    _named(_name, _needs(_name, "sparse"))
for _name in _QUANTISED:
    _named(_name, _needs(_name, "quantised"))
for _name in _REMOVED:
    _named(_name, _removed(_name))
