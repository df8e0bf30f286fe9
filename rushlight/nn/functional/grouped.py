"""Products of groups of matrices, and of matrices that carry scales."""

from __future__ import annotations

import enum

import rushlight as torch

__all__ = ["ScalingType", "SwizzleType", "grouped_mm", "scaled_mm"]


class ScalingType(enum.IntEnum):
    """What a scale belongs to: the tensor, a row, or a block of it."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """How scales lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def _check_groups(mat_a, mat_b, offs) -> None:
    for name, mat in (("mat_a", mat_a), ("mat_b", mat_b)):
        if mat.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if (offs is not None) != (mat_a.dim() == 2 or mat_b.dim() == 2):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if mat_a.size(-1) != mat_b.size(-2):
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if offs is None:
        if mat_a.size(0) != mat_b.size(0):
            raise RuntimeError("batched dimension has to match")
        return
    if offs.dtype is not torch.int32:
        raise RuntimeError("Offsets have to be int32")
    for mat in (mat_a, mat_b):
        if mat.dim() == 3 and mat.size(0) != offs.numel():
            raise RuntimeError("matrix batch sizes have to match")


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """Products of groups of matrices.

    Of two 3-D tensors, the products of their matrices, (G, M, N). ``offs`` (G,) holds where the
    groups end along the dimension of a 2-D tensor: rows of ``mat_a``, columns of ``mat_b``, or,
    where both are 2-D, the dimension that is summed over.
    """
    _check_groups(mat_a, mat_b, offs)
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if offs is None:
        return torch.bmm(mat_a, mat_b)
    ends = offs.tolist()
    spans = list(zip([0, *ends[:-1]], ends))
    if mat_a.dim() == 2 and mat_b.dim() == 2:
        return torch.stack([mat_a[:, i:j] @ mat_b[i:j] for i, j in spans])
    rest = mat_a.size(-2) if mat_a.dim() == 2 else mat_b.size(-1)
    last = ends[-1] if ends else 0
    if mat_a.dim() == 2:
        parts = [mat_a[i:j] @ mat_b[g] for g, (i, j) in enumerate(spans)]
        parts += [mat_a.new_zeros(rest - last, mat_b.size(-1))] if last < rest else []
        return torch.cat(parts, 0)
    parts = [mat_a[g] @ mat_b[:, i:j] for g, (i, j) in enumerate(spans)]
    parts += [mat_a.new_zeros(mat_a.size(-2), rest - last)] if last < rest else []
    return torch.cat(parts, 1)


def _scaled(mat, scale, recipe, rows: bool):
    """``mat`` as float32 times its scale: one number, or one per row (column of the second)."""
    scale = scale[0] if isinstance(scale, (list, tuple)) else scale
    recipe = recipe[0] if isinstance(recipe, (list, tuple)) else recipe
    if recipe == ScalingType.TensorWise:
        return mat.float() * scale.float()
    if recipe == ScalingType.RowWise:
        return mat.float() * scale.float().reshape((-1, 1) if rows else (1, -1))
    raise NotImplementedError("scaled_mm has scales of tensors and of rows, not of blocks")


def scaled_mm(
    mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None,
    swizzle_b=None, bias=None, output_dtype=torch.bfloat16, contraction_dim=(),
    use_fast_accum=False,
):  # fmt: skip
    """The product of two matrices of 8-bit floats, each times its scale; summed in float32."""
    a = _scaled(mat_a, scale_a, scale_recipe_a, True)
    b = _scaled(mat_b, scale_b, scale_recipe_b, False)
    product = a @ b
    if bias is not None:
        product = product + bias.float()
    return product if output_dtype is None else product.to(output_dtype)


def _scaled_mm(
    self, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None,
    use_fast_accum=False,
):  # fmt: skip
    """The older :func:`scaled_mm`: a scale of one number is the tensor's, another one of rows."""
    kinds = [
        ScalingType.TensorWise if scale.numel() == 1 else ScalingType.RowWise
        for scale in (scale_a, scale_b)
    ]
    product = scaled_mm(
        self, mat2, scale_a, kinds[0], scale_b, kinds[1], bias=bias,
        output_dtype=torch.float32 if scale_result is not None else out_dtype or self.dtype,
    )  # fmt: skip
    if scale_result is not None:
        product = (product * scale_result).to(out_dtype or self.dtype)
    return product


_grouped_mm = grouped_mm
