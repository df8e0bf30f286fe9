"""Functions that arrange tensors: grids, products and combinations of their elements."""

from __future__ import annotations

import itertools

from . import _C


def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape, as views. Raises RuntimeError where none is."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    return _C._functions_table["broadcast_tensors"](list(tensors))


def meshgrid(*tensors, indexing=None):
    """Coordinates of the grid that 1-d (or 0-d) tensors span, one tensor each.

    ``indexing`` "ij" (the default, with PyTorch's warning) lets the first tensor run along the
    first dimension, "xy" along the second. Raises RuntimeError for other words, other ranks, and
    dtypes or devices that differ.
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}"
            )
        if t.dtype != tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
        if t.device != tensors[0].device:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same device")
    if indexing is None:
        import warnings

        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.",
            stacklevel=2,
        )
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + indexing
        )
    swapped = indexing == "xy" and len(tensors) >= 2
    if swapped:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    sizes = [t.numel() for t in tensors]
    grids = []
    for place, t in enumerate(tensors):
        shape = [1] * len(tensors)
        shape[place] = sizes[place]
        grids.append(t.view(shape).expand(sizes))
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
        grids = [g.transpose(0, 1) for g in grids]
    return tuple(grids)


def cartesian_prod(*tensors):
    """All combinations of one element of each 1-d tensor, as rows in order."""
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    stack = _C._functions_table["stack"]
    return stack([g.flatten() for g in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input, r=2, with_replacement=False):
    """The combinations of ``r`` elements of a 1-d tensor, as rows in order."""
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.numel()), r))
    if not rows:
        return input.new_empty(0, r)
    return input[_C.tensor(rows)]
