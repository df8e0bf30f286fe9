"""Linear algebra in Python: chains of products, LU as a function and a method."""

from __future__ import annotations

import rushlight as torch

from . import _C
from ._ranges import record_function


@record_function("aten::chain_matmul")
def chain_matmul(*matrices, out=None):
    """The product of matrices in the order that takes the fewest multiplications."""
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = matrices[0]
    for i, x in enumerate(matrices):
        if not isinstance(x, torch.Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}"
            )
    op = _C._ops_table["chain_matmul"]
    return op(list(matrices)) if out is None else op(list(matrices), out=out)


def lu(A, pivot=True, get_infos=False, out=None):
    """The factors of A = P L U in one matrix and the row exchanges; ``linalg.lu_factor_ex``.

    With ``get_infos`` also the number of the first zero on U's diagonal for each matrix, or 0;
    without it such a matrix raises RuntimeError.
    """
    found = torch._C._VariableFunctions._lu_with_info(
        A, pivot=pivot, check_errors=not get_infos
    )
    made = tuple(found) if get_infos else tuple(found)[:2]
    if out is None:
        return made
    if not isinstance(out, (list, tuple)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) - get_infos != 2:
        raise TypeError(
            f"expected tuple of {2 + int(get_infos)} elements but got {len(out)}"
        )
    for target, value in zip(out, made, strict=True):
        target.resize_as_(value).copy_(value)
    return out
