"""Multi-head attention (Vaswani et al. 2017), with projections, masks and biases."""

from __future__ import annotations

import math

import rushlight as torch
from rushlight import _C

from .dropout import dropout

_nn = _C._nn


def _check(condition, message):
    if not condition:
        raise AssertionError(message)


def _in_projection_packed(q, k, v, w, b=None):
    """Project q, k and v by the three parts of ``w`` (3E, E); equal inputs share a product."""
    E = q.size(-1)
    if k is v:
        if q is k:
            projected = _nn.linear(q, w, b)
            projected = projected.unflatten(-1, (3, E)).unsqueeze(0)
            projected = projected.transpose(0, -2).squeeze(-2).contiguous()
            return projected[0], projected[1], projected[2]
        w_q, w_kv = w.split([E, E * 2])
        b_q, b_kv = (None, None) if b is None else b.split([E, E * 2])
        q = _nn.linear(q, w_q, b_q)
        kv = _nn.linear(k, w_kv, b_kv).unflatten(-1, (2, E)).unsqueeze(0)
        kv = kv.transpose(0, -2).squeeze(-2).contiguous()
        return q, kv[0], kv[1]
    w_q, w_k, w_v = w.chunk(3)
    b_q, b_k, b_v = (None, None, None) if b is None else b.chunk(3)
    return _nn.linear(q, w_q, b_q), _nn.linear(k, w_k, b_k), _nn.linear(v, w_v, b_v)


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    Eq, Ek, Ev = q.size(-1), k.size(-1), v.size(-1)
    for name, w, shape in (
        ("query", w_q, (Eq, Eq)),
        ("key", w_k, (Eq, Ek)),
        ("value", w_v, (Eq, Ev)),
    ):
        if w.shape != shape:
            raise AssertionError(f"expecting {name} weights shape of {shape}, but got {w.shape}")
    for name, b in (("query", b_q), ("key", b_k), ("value", b_v)):
        if b is not None and b.shape != (Eq,):
            raise AssertionError(f"expecting {name} bias shape of {(Eq,)}, but got {b.shape}")
    return _nn.linear(q, w_q, b_q), _nn.linear(k, w_k, b_k), _nn.linear(v, w_v, b_v)


def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Check the ranks of all inputs; return whether they are batched."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{dims}-D query tensor"
        )
    kind = "For batched (3-D) `query`" if dims == 3 else "For unbatched (2-D) `query`"
    _check(
        key.dim() == dims and value.dim() == dims,
        f"{kind}, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and "
        f"{value.dim()}-D tensors respectively",
    )
    if key_padding_mask is not None:
        _check(
            key_padding_mask.dim() == dims - 1,
            f"{kind}, expected `key_padding_mask` to be `None` or {dims - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead",
        )
    if attn_mask is not None:
        _check(
            attn_mask.dim() in (2, 3),
            f"{kind}, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead",
        )
        if dims == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            _check(
                attn_mask.shape == expected,
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}",
            )
    return dims == 3


def _none_or_dtype(input):
    if input is None:
        return None
    if isinstance(input, torch.Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A bool mask (True: hidden) as an additive float one; a float mask as it is."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not torch.is_floating_point(mask):
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        import warnings

        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. "
            "Use same type for both instead.",
            stacklevel=2,
        )
    if torch.is_floating_point(mask):
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _check_sizes(query, key, value, embed_dim_to_check, num_heads, separate):
    embed_dim = query.shape[-1]
    head_dim = embed_dim // num_heads
    _check(
        embed_dim == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}",
    )
    _check(
        head_dim * num_heads == embed_dim,
        f"embed_dim {embed_dim} not divisible by num_heads {num_heads}",
    )
    if separate:
        _check(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's "
            f"{value.shape[:2]}",
        )
    else:
        _check(
            key.shape == value.shape,
            f"key shape {key.shape} does not match value shape {value.shape}",
        )
    return head_dim


def _attn_mask_3d(attn_mask, tgt_len, src_len, batch_heads):
    if attn_mask.dim() == 2:
        expected = (tgt_len, src_len)
        if attn_mask.shape != expected:
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {expected}."
            )
        return attn_mask.unsqueeze(0)
    if attn_mask.dim() != 3:
        raise RuntimeError(f"attn_mask's dimension {attn_mask.dim()} is not supported")
    expected = (batch_heads, tgt_len, src_len)
    if attn_mask.shape != expected:
        raise RuntimeError(
            f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be {expected}."
        )
    return attn_mask


def _append_position(k, v, masks, k_extra, v_extra, dim):
    """Add one source position to keys, values and masks."""
    k = torch.cat([k, k_extra], dim=dim)
    v = torch.cat([v, v_extra], dim=dim)
    return k, v, [None if mask is None else _nn.pad(mask, (0, 1)) for mask in masks]


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention of ``query`` (L, N, E) over ``key`` and ``value`` (S, N, E), or unbatched.

    Returns the output, shaped as ``query``, and the weights (N, L, S) or None. Masks: bool, True
    hides a position, or float, added to the scores.
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    masks, is_causal = _masks(query, attn_mask, key_padding_mask, is_causal, need_weights)
    head_dim = _check_sizes(
        query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight
    )
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _project_separately(query, key, value, weights, in_proj_bias)
    else:
        _check(
            in_proj_weight is not None,
            "use_separate_proj_weight is False but in_proj_weight is None",
        )
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    tgt_len, bsz, _ = query.shape
    heads = bsz * num_heads
    if masks[0] is not None:
        masks[0] = _attn_mask_3d(masks[0], tgt_len, key.shape[0], heads)
    if bias_k is not None and bias_v is not None:
        _check(static_k is None, "bias cannot be added to static key.")
        _check(static_v is None, "bias cannot be added to static value.")
        extra = bias_k.repeat(1, bsz, 1), bias_v.repeat(1, bsz, 1)
        k, v, masks = _append_position(k, v, masks, *extra, 0)
    else:
        _check(bias_k is None, "bias_k is set but bias_v is None")
        _check(bias_v is None, "bias_v is set but bias_k is None")
    q = q.view(tgt_len, heads, head_dim).transpose(0, 1)
    k = _by_head(k, static_k, "static_k", heads, head_dim)
    v = _by_head(v, static_v, "static_v", heads, head_dim)
    if add_zero_attn:
        zero = torch.zeros((heads, 1, head_dim), dtype=k.dtype, device=k.device)
        k, v, masks = _append_position(k, v, masks, zero, zero, 1)
    mask = _merge_masks(*masks, bsz, num_heads, k.size(1))
    attend = _attend_with_weights if need_weights else _attend
    output, weights = attend(
        q, k, v, mask, dropout_p if training else 0.0, is_causal, bsz, num_heads
    )
    output = _nn.linear(output, out_proj_weight, out_proj_bias)
    output = output.view(tgt_len, bsz, output.size(1))
    if need_weights and average_attn_weights:
        weights = weights.mean(dim=1)
    if batched:
        return output, weights
    return output.squeeze(1), (weights.squeeze(0) if need_weights else None)


def _masks(query, attn_mask, key_padding_mask, is_causal, need_weights):
    """[attention mask, padding mask] as additive masks, and whether the causal hint stands."""
    padding = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        return [None, None], True
    attention = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
    return [attention, padding], is_causal and padding is None


def _project_separately(query, key, value, weights, in_proj_bias):
    for name, weight in zip("qkv", weights, strict=True):
        _check(
            weight is not None,
            f"use_separate_proj_weight is True but {name}_proj_weight is None",
        )
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    return _in_projection(query, key, value, *weights, *biases)


def _by_head(projected, static, name, heads, head_dim):
    """(S, N, E) -> (N * heads, S, head_dim); a static tensor is that already."""
    if static is None:
        return projected.view(projected.shape[0], heads, head_dim).transpose(0, 1)
    for dim, size in ((0, heads), (2, head_dim)):
        _check(
            static.size(dim) == size,
            f"expecting {name}.size({dim}) of {size}, but got {static.size(dim)}",
        )
    return static


def _merge_masks(attn_mask, key_padding_mask, bsz, num_heads, src_len):
    if key_padding_mask is None:
        return attn_mask
    for dim, size in enumerate((bsz, src_len)):
        have = key_padding_mask.shape[dim]
        _check(have == size, f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {have}")
    padding = key_padding_mask.view(bsz, 1, 1, src_len)
    padding = padding.expand(-1, num_heads, -1, -1).reshape(bsz * num_heads, 1, src_len)
    return padding if attn_mask is None else attn_mask + padding


def _attend(q, k, v, attn_mask, dropout_p, is_causal, bsz, num_heads):
    """The values attended, (L * N, E); the weights are not kept."""
    _, tgt_len, head_dim = q.shape
    src_len = k.size(1)
    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(bsz, num_heads, -1, src_len)
    q = q.view(bsz, num_heads, tgt_len, head_dim)
    k = k.view(bsz, num_heads, src_len, head_dim)
    v = v.view(bsz, num_heads, src_len, head_dim)
    output = _nn.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    output = output.permute(2, 0, 1, 3).contiguous()
    return output.view(bsz * tgt_len, num_heads * head_dim), None


def _attend_with_weights(q, k, v, attn_mask, dropout_p, is_causal, bsz, num_heads):
    """The values attended, (L * N, E), and the weights (N, heads, L, S)."""
    _, tgt_len, head_dim = q.shape
    q = q * math.sqrt(1.0 / float(head_dim))
    if is_causal and attn_mask is None:
        raise AssertionError("FIXME: is_causal not implemented for need_weights")
    if attn_mask is not None:
        scores = torch.baddbmm(attn_mask, q, k.transpose(-2, -1))
    else:
        scores = torch.bmm(q, k.transpose(-2, -1))
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = dropout(weights, p=dropout_p)
    output = torch.bmm(weights, v).transpose(0, 1).contiguous()
    output = output.view(tgt_len * bsz, num_heads * head_dim)
    return output, weights.view(bsz, num_heads, tgt_len, k.size(1))
