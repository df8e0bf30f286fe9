"""Attention whose scores and mask are written as functions of the positions.

The functions take (batch, head, query position, key position) as index tensors that broadcast
against each other, so that one call of them serves all scores.
"""

from __future__ import annotations

import math
from collections import namedtuple

import rushlight as torch

_DEFAULT_SPARSE_BLOCK_SIZE = 128

AuxRequest = namedtuple("AuxRequest", ["lse", "max_scores"], defaults=(False, False))
AuxOutput = namedtuple("AuxOutput", ["lse", "max_scores"], defaults=(None, None))


def noop_mask(batch, head, token_q, token_kv):
    """The mask that hides nothing."""
    return batch.new_ones(size=(), dtype=torch.bool)


def _positions(B, H, Q_LEN, KV_LEN, device):
    def along(size, dim):
        shape = [1] * 4
        shape[dim] = size
        return torch.arange(size, device=device).view(shape)

    return along(B, 0), along(H, 1), along(Q_LEN, 2), along(KV_LEN, 3)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The mask (B, H, Q_LEN, KV_LEN) of ``mod_fn``; True may be attended to."""
    B, H = B or 1, H or 1
    mask = mod_fn(*_positions(B, H, Q_LEN, KV_LEN, device))
    return mask.to(torch.bool).expand(B, H, Q_LEN, KV_LEN)


def and_masks(*mask_mods):
    """The mask that allows what all of ``mask_mods`` allow."""
    _check_callables(mask_mods)

    def and_mask(b, h, q_idx, kv_idx):
        result = b.new_ones((), dtype=torch.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def or_masks(*mask_mods):
    """The mask that allows what any of ``mask_mods`` allows."""
    _check_callables(mask_mods)

    def or_mask(b, h, q_idx, kv_idx):
        result = b.new_zeros((), dtype=torch.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def _check_callables(mask_mods):
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def _ordered(dense):
    """(how many blocks of each row are set, their indices first) of a dense block mask."""
    dense = dense.to(torch.int32)
    counts = dense.sum(dim=-1)
    indices = torch.argsort(dense, dim=-1, descending=True, stable=True)
    return counts.to(torch.int32), indices.to(torch.int32)


def _dense(counts, indices):
    """The dense block mask that :func:`_ordered` came from."""
    columns = indices.size(-1)
    used = torch.arange(columns, device=counts.device) < counts.unsqueeze(-1)
    dense = torch.zeros(indices.shape, dtype=torch.int32, device=counts.device)
    return dense.scatter_(-1, indices.long(), used.to(torch.int32))


class BlockMask:
    """Which blocks of scores are computed: in part (``kv_*``, by ``mask_mod``) or full.

    ``kv_num_blocks`` (B, H, rows) counts a row's blocks, ``kv_indices`` (B, H, rows, columns)
    lists them first; ``q_*`` are the same by columns.
    """

    def __init__(
        self, seq_lengths, kv, full_kv=(None, None), BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod=None,
    ):  # fmt: skip
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv
        self.full_kv_num_blocks, self.full_kv_indices = full_kv
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = noop_mask if mask_mod is None else mask_mod
        self.q_num_blocks, self.q_indices = _ordered(_dense(*kv).transpose(-2, -1))
        if full_kv[0] is None:
            self.full_q_num_blocks = self.full_q_indices = None
        else:
            transposed = _dense(*full_kv).transpose(-2, -1)
            self.full_q_num_blocks, self.full_q_indices = _ordered(transposed)

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod=None,
        seq_lengths=None,
    ):
        """A BlockMask from each row's blocks."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both provided or omitted"
            )
        if isinstance(BLOCK_SIZE, int):
            BLOCK_SIZE = (BLOCK_SIZE, BLOCK_SIZE)
        if seq_lengths is None:
            rows, columns = kv_indices.shape[-2:]
            seq_lengths = (rows * BLOCK_SIZE[0], columns * BLOCK_SIZE[1])
        return cls(
            seq_lengths,
            (kv_num_blocks, kv_indices),
            (full_kv_num_blocks, full_kv_indices),
            BLOCK_SIZE,
            mask_mod,
        )

    @property
    def shape(self):
        """(B, H, query length, key length)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """The number of scores without any mask."""
        return math.prod(self.shape)

    def to_dense(self):
        """The blocks that are computed, as ones of a dense (B, H, rows, columns)."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            dense = dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return dense

    def sparsity(self):
        """The percentage of scores that is not computed."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        computed = blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - computed / self.numel())

    def to(self, device):
        """The same on another device."""

        def move(*tensors):
            return tuple(None if t is None else t.to(device) for t in tensors)

        return BlockMask(
            self.seq_lengths,
            move(self.kv_num_blocks, self.kv_indices),
            move(self.full_kv_num_blocks, self.full_kv_indices),
            self.BLOCK_SIZE,
            self.mask_mod,
        )

    def _allowed(self, B, H):
        """The mask of single scores, (B, H, Q, KV) or broadcastable to it."""
        q_len, kv_len = self.seq_lengths
        device = self.kv_indices.device

        def spread(counts, indices):
            blocks = _dense(counts, indices).to(torch.bool)
            blocks = blocks.repeat_interleave(self.BLOCK_SIZE[0], dim=-2)
            blocks = blocks.repeat_interleave(self.BLOCK_SIZE[1], dim=-1)
            return blocks[..., :q_len, :kv_len]

        allowed = spread(self.kv_num_blocks, self.kv_indices) & create_mask(
            self.mask_mod, B, H, q_len, kv_len, device
        )
        if self.full_kv_num_blocks is not None:
            allowed = allowed | spread(self.full_kv_num_blocks, self.full_kv_indices)
        return allowed


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
    _compile=False,
    separate_full_blocks=True,
):
    """The BlockMask of ``mask_mod``; B or H of None means the same for all."""
    if isinstance(BLOCK_SIZE, int):
        BLOCK_SIZE = (BLOCK_SIZE, BLOCK_SIZE)
    B, H = B or 1, H or 1
    rows, columns = -(-Q_LEN // BLOCK_SIZE[0]), -(-KV_LEN // BLOCK_SIZE[1])
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    padding = (0, columns * BLOCK_SIZE[1] - KV_LEN, 0, rows * BLOCK_SIZE[0] - Q_LEN)
    mask = torch.nn.functional.pad(mask.to(torch.int32), padding)
    counts = mask.view(B, H, rows, BLOCK_SIZE[0], columns, BLOCK_SIZE[1]).sum(dim=(-3, -1))
    if separate_full_blocks:
        full = counts == BLOCK_SIZE[0] * BLOCK_SIZE[1]
        full_kv = _ordered(full)
    else:
        full = torch.zeros_like(counts, dtype=torch.bool)
        full_kv = (None, None)
    partial = (counts > 0) & ~full
    return BlockMask((Q_LEN, KV_LEN), _ordered(partial), full_kv, BLOCK_SIZE, mask_mod)


def _check_inputs(query, key, value, block_mask, enable_gqa):
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if not enable_gqa and query.size(-3) != key.size(-3):
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={query.size(-3)} and Hkv={key.size(-3)}. Try setting enable_gqa=True for GQA."
        )
    if block_mask is None:
        return
    q_len, kv_len = query.size(-2), key.size(-2)
    if tuple(block_mask.seq_lengths) != (q_len, kv_len):
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got "
            f"q_len={q_len} and kv_len={kv_len}. As the block mask was created for another "
            "length than you're using it for, create a new block mask with the correct length."
        )


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """softmax(score_mod(scale * Q K^T)) V, over what ``block_mask`` allows.

    query (B, H, L, E), key (B, H, S, E), value (B, H, S, V) -> (B, H, L, V);
    ``score_mod(score, b, h, q_idx, kv_idx)`` changes the scores. Rows that see nothing give 0.
    """
    _check_inputs(query, key, value, block_mask, enable_gqa)
    if scale is None:
        scale = 1.0 / math.sqrt(query.size(-1))
    if enable_gqa:
        groups = query.size(1) // key.size(1)
        key = key.repeat_interleave(groups, dim=1)
        value = value.repeat_interleave(groups, dim=1)
    B, H, q_len, _ = query.shape
    kv_len = key.size(-2)
    working = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = (query @ key.transpose(-2, -1)).to(working) * scale
    if score_mod is not None:
        scores = score_mod(scores, *_positions(B, H, q_len, kv_len, query.device)).to(working)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask._allowed(B, H), -math.inf)
    lse = scores.logsumexp(dim=-1)
    # A row without any allowed position would divide 0 by 0.
    blind = lse == -math.inf
    weights = (scores - lse.masked_fill(blind, 0.0).unsqueeze(-1)).exp()
    output = (weights.to(query.dtype) @ value).to(query.dtype)
    if return_aux is not None:
        maximum = scores.amax(dim=-1) if return_aux.max_scores else None
        return output, AuxOutput(lse if return_aux.lse else None, maximum)
    return (output, lse) if return_lse else output
