"""Causal masks for attention that are not made before they are needed."""

from __future__ import annotations

import enum
import warnings

import rushlight as torch

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """The corner at which the diagonal of a mask that is not square begins."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(torch.Tensor):
    """A mask (seq_len_q, seq_len_kv) for `scaled_dot_product_attention`: True takes part.

    Where it begins in the upper left corner, attention needs no mask at all.
    """

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        return torch.empty(0).as_subclass(cls)

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(
                f"variant must be a CausalVariant, got {type(variant).__name__}"
            )
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                "seq_len_kv!",
                stacklevel=2,
            )

    def _materialize(self, device=None):
        """The mask as a tensor of bools."""
        lower_right = self.variant == CausalVariant.LOWER_RIGHT
        shape = self.seq_len_q, self.seq_len_kv
        whole = torch.ones(shape, dtype=torch.bool, device=device)
        return whole.tril(shape[1] - shape[0] if lower_right else 0)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        attention = torch.nn.functional.scaled_dot_product_attention
        if func is not attention:
            return super().__torch_function__(func, types, args, kwargs or {})
        return cls._attention(attention, *args, **(kwargs or {}))

    @staticmethod
    def _attention(
        attention, query, key, value, attn_mask, dropout_p=0.0, is_causal=False, **options
    ):
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        square = attn_mask.seq_len_q == attn_mask.seq_len_kv
        if square or attn_mask.variant == CausalVariant.UPPER_LEFT:
            return attention(query, key, value, None, dropout_p, True, **options)
        mask = attn_mask._materialize(query.device)
        return attention(query, key, value, mask, dropout_p, False, **options)

    def __repr__(self):
        return repr(self._materialize())


def causal_upper_left(*size) -> CausalBias:
    """A mask of ``size`` (queries, keys) whose first query sees the first key."""
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size) -> CausalBias:
    """A mask of ``size`` (queries, keys) whose last query sees the last key."""
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
