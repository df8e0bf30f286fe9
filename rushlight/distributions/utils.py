"""What distributions share: broadcasting of parameters, probabilities and logits, lazy values."""

from __future__ import annotations

from functools import update_wrapper
from numbers import Number

import rushlight as torch
from rushlight.overrides import is_tensor_like

euler_constant = 0.57721566490153286060

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip


def broadcast_all(*values) -> tuple:
    """Tensors and numbers as tensors of one shape; numbers take the dtype of the first tensor."""
    if not all(is_tensor_like(v) or isinstance(v, Number) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, "
            "torch.Tensor or objects implementing __torch_function__."
        )
    first = next((v for v in values if isinstance(v, torch.Tensor)), None)
    if first is None:
        options = {"dtype": torch.get_default_dtype()}
    else:
        options = {"dtype": first.dtype, "device": first.device}
    tensors = [v if is_tensor_like(v) else torch.tensor(v, **options) for v in values]
    return torch.broadcast_tensors(*tensors)


def _standard_normal(shape, dtype, device):
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value, dim: int):
    """``value`` summed over its last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits, is_binary: bool = False):
    """Probabilities from log odds (binary) or unnormalised log probabilities."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


def clamp_probs(probs):
    """``probs`` kept away from 0 and 1 by the dtype's precision."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary: bool = False):
    """Log odds (binary) or log probabilities."""
    inside = clamp_probs(probs)
    return torch.log(inside) - torch.log1p(-inside) if is_binary else torch.log(inside)


class lazy_property:
    """A value that is computed on first use and then an attribute of the object."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _LazyOfClass(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _LazyOfClass(lazy_property, property):
    # What the class shows: documentation tools see a property.
    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def _lower_mask(n: int, diag: int, device):
    positions = torch.arange(n, device=device)
    return positions < positions.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat, diag: int = 0):
    """The elements of the lower triangles of ``mat``, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower_mask(n, diag, mat.device)]


def vec_to_tril_matrix(vec, diag: int = 0):
    """Square matrices whose lower triangles hold ``vec``, row by row."""
    count, shift = vec.shape[-1], 1 + 2 * diag
    n = (-shift + (shift**2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    n = round(n)
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _lower_mask(n, diag, vec.device)] = vec
    return mat
