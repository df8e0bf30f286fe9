"""Reductions whose result depends on how they are asked: norms and distinct values."""

from __future__ import annotations

from . import _C


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of a tensor: a vector's of order ``p``, over ``dim`` (all dimensions by default).

    ``p`` is a number, "fro" (order 2) or "nuc" (of matrices). Raises RuntimeError for other names.
    """
    input.layout  # noqa: B018  what is no tensor raises AttributeError, as in PyTorch
    table = _C._linalg_table
    dims = [dim] if isinstance(dim, int) else dim
    more = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
    if not isinstance(p, str):
        return table["vector_norm"](input, 2.0 if p is None else p, dims, keepdim, **more)
    if p == "fro" and (dims is None or len(dims) <= 2):
        return table["vector_norm"](input, 2, dims, keepdim, **more)
    if dims is None:
        dims = list(range(input.dim()))
    return table["matrix_norm"](input, p, dims, keepdim, **more)


def norm_except_dim(v, pow=2, dim=0):
    """The ``pow``-norm over all dimensions but ``dim``, which are kept; over all for -1."""
    if dim == -1:
        return v.norm(pow)
    if not v.dim() or not -v.dim() <= dim < v.dim():
        v.size(dim)  # raises
    if dim not in (0, v.dim() - 1):
        return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
    if dim == 0:
        rows = v.contiguous().view(v.size(0), -1)
        return rows.norm(pow, 1).view(-1, *[1] * (v.dim() - 1))
    columns = v.contiguous().view(-1, v.size(-1))
    return columns.norm(pow, 0).view(*[1] * (v.dim() - 1), v.size(-1))


def _asked_for(found, return_inverse, return_counts):
    values, inverse, counts = found
    if return_inverse:
        return (values, inverse, counts) if return_counts else (values, inverse)
    return (values, counts) if return_counts else values


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements in ascending order, or the distinct slices along ``dim``.

    With ``return_inverse`` also the place of each element among them, with ``return_counts`` how
    often each comes.
    """
    if dim is None:
        found = _C._functions_table["_unique2"](input, sorted, return_inverse, return_counts)
    else:
        found = _C._functions_table["unique_dim"](
            input, dim, sorted, return_inverse, return_counts
        )
    return _asked_for(found, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The first of each run of equal elements, or of equal slices along ``dim``.

    With ``return_inverse`` also the run each element is in, with ``return_counts`` the lengths.
    """
    found = _C._ops_table["unique_consecutive"](input, return_inverse, return_counts, dim)
    return _asked_for(found, return_inverse, return_counts)
