"""Functions that arrange tensors: grids, products and combinations of their elements."""

from __future__ import annotations

from itertools import pairwise

from . import _C
from ._ranges import record_function


@record_function("aten::broadcast_tensors")
def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape, as views. Raises RuntimeError where none is."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    return _C._functions_table["broadcast_tensors"](list(tensors))


def _check_elements(tensors) -> None:
    for i, t in enumerate(tensors):
        if not isinstance(t, _C.TensorBase):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}"
            )


@record_function("aten::block_diag")
def block_diag(*tensors):
    """A matrix with the tensors, of two dimensions at most, as blocks along its diagonal.

    Raises RuntimeError for more dimensions.
    """
    return _C._ops_table["block_diag"](list(tensors))


def _widened(op, tensors):
    if len(tensors) == 1:
        return op(tensors[0])
    return op(list(tensors))


def atleast_1d(*tensors):
    """The tensor, or each of several, with at least one dimension."""
    return _widened(_C._functions_table["atleast_1d"], tensors)


def atleast_2d(*tensors):
    """The tensor, or each of several, with at least two dimensions, a vector as a row."""
    return _widened(_C._functions_table["atleast_2d"], tensors)


def atleast_3d(*tensors):
    """The tensor, or each of several, with at least three dimensions: [1, n, 1] or [n, m, 1]."""
    return _widened(_C._functions_table["atleast_3d"], tensors)


@record_function("aten::meshgrid")
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
    _check_elements(tensors)
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
    return tuple(grids)


@record_function("aten::cartesian_prod")
def cartesian_prod(*tensors):
    """All combinations of one element of each 1-d tensor, as rows in order."""
    _check_elements(tensors)
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    stack = _C._functions_table["stack"]
    return stack([g.flatten() for g in meshgrid(*tensors, indexing="ij")], 1)


@record_function("aten::combinations")
def combinations(input, r=2, with_replacement=False):
    """The combinations of ``r`` elements of a 1-d tensor, as rows in order."""
    if not isinstance(input, _C.TensorBase):
        kind = type(input).__name__
        raise TypeError(f"combinations(): argument 'input' (position 1) must be Tensor, not {kind}")
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    functions = _C._functions_table
    places = functions["arange"](input.numel(), device=input.device)
    places = meshgrid(*[places] * r, indexing="ij")
    chosen = functions["full_like"](places[0], True, dtype=_C.bool)
    for low, high in pairwise(places):
        chosen &= low <= high if with_replacement else low < high
    grids = meshgrid(*[input] * r, indexing="ij")
    return functions["stack"]([g.masked_select(chosen) for g in grids], 1)


def unravel_index(indices, shape):
    """Flat indices into a tensor of ``shape`` as one index tensor for each dimension."""
    kinds = (_C.uint8, _C.int8, _C.int16, _C.int32, _C.int64)
    if indices.is_complex() or indices.dtype not in kinds:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, int):
        shape = (shape,)
    for size in shape:
        if not isinstance(size, int):
            raise TypeError(
                f"expected 'shape' sequence to only contain ints, but got {type(size)}"
            )
    if any(size < 0 for size in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(shape)}")
    coefficients, product = [], 1
    for size in reversed(shape):
        coefficients.append(product)
        product *= size
    if not coefficients:
        return ()
    steps = _C.tensor(coefficients[::-1], dtype=_C.int64, device=indices.device)
    sizes = _C.tensor(tuple(shape), dtype=_C.int64, device=indices.device)
    split = indices.unsqueeze(-1).floor_divide(steps) % sizes
    return split.unbind(-1)
