"""Masks of attention that keep what they should hide: the future, or the padding."""

from __future__ import annotations

import ast
from collections import Counter
from typing import ClassVar

import rushlight
from rushlight import _C

from ... import changes
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "causal-mask-inverted",
    "A causal mask lets the future through and hides the past",
    """
scaled_dot_product_attention wants True where a key may be seen, masked_fill and MultiheadAttention
want True where it may not. A triangle made for one and given to the other is the wrong way round:
each position sees what comes after it and nothing before, and the last one sees nothing at all.
Invert it with ~mask, or take is_causal=True.
""",
)


ATTENTION = "scaled_dot_product_attention"
FILLING = ("masked_fill", "masked_fill_")
MASKING = (ATTENTION, *FILLING, "where")
LOW = -1e4  # scores of this size, and lower ones, are as good as hidden


@check
class Causal(Check):
    kinds = ("causal-mask-inverted",)
    needs: ClassVar = {"*": (f"op {ATTENTION} {' '.join(FILLING)}", 1, "no mask was seen")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, {ATTENTION, *FILLING})

    def op(self, op):
        if op.site in self.seen:
            return
        attention = op.name == ATTENTION
        place, name = (3, "attn_mask") if attention else (1, "mask")
        mask = op.argument(place, name)
        if not attention and not _is_low(op.argument(2, "value")):
            return
        if isinstance(mask, _C.TensorBase) and mask.device.type == "cpu":
            self.seen[op.site] = _is_turned(mask.detach(), attention) and tuple(mask.shape)

    def findings(self, doctor):
        return [self.finding(site, shape) for site, shape in self.seen.items() if shape]

    def finding(self, site, shape):
        call, fixes = places.call_at(site), []
        if call is not None:
            node = changes.keyword(call, "attn_mask") or changes.keyword(call, "mask")
            last = 3 if called(call) == ATTENTION else 0
            node = node or (call.args[last] if len(call.args) > last else None)
            if node is not None:
                text = f"~{changes.atom(site.source, node)}"
                fixes.append(site.source.fix(node, text))
        steps = shape[-1]
        evidence = [
            f"the mask {shape} keeps the keys after each of {steps} positions, not those before"
        ]
        return found(
            "causal-mask-inverted", "wrong result", site,
            "each position sees the future and not the past", evidence, [], fixes,
        )  # fmt: skip


def _is_low(value) -> bool:
    return isinstance(value, (int, float)) and value <= LOW


def _is_turned(mask, keeps: bool) -> bool:
    """Whether a square bool mask keeps the strict upper triangle alone."""
    if mask.dtype is not rushlight.bool or mask.dim() < 2:
        return False
    if mask.shape[-1] != mask.shape[-2] or not 3 <= mask.shape[-1] <= 4096:
        return False
    while mask.dim() > 2:
        mask = mask[0]
    kept = mask if keeps else ~mask
    wanted = kept.new_ones(kept.shape).triu(1)
    return bool((kept == wanted).all())


kind(
    "padding-mask-inverted",
    "A padding mask hides the tokens and keeps the padding",
    """
key_padding_mask, src_key_padding_mask and masked_fill want True where a key is to be hidden: at the
padding. A mask that is True (or 1) at the tokens, as attention_mask of tokenizers is, hides all of
them: attention sees the padding alone, and a row without padding has nothing left to see, which
gives NaN. Only scaled_dot_product_attention wants True where a key may be seen. Invert the mask:
~mask.
""",
)

LOOKS = 8  # masks of a place that are held against what they hide


@check
class Padding(Check):
    kinds = ("padding-mask-inverted",)
    needs: ClassVar = {"*": (f"op {' '.join(MASKING)}", 1, "no mask was seen")}

    def start(self, doctor):
        self.looks, self.seen = Counter(), {}
        doctor.watch.on("op", self.op, {*MASKING, "mul"})

    def op(self, op):
        if op.site in self.seen or self.looks[op.site] >= LOOKS:
            return
        mask, hides = _given_mask(op)
        if mask is None:
            return
        self.looks[op.site] += 1
        hidden = _by_key(mask.detach() if hides else mask.detach().logical_not())
        if hidden is None or not is_filling(~hidden):
            return
        for frame in places.user_frames():
            for name, values in _tensors_in(_C._locals(frame)):
                filler = _filler_kept(hidden, values)
                if filler is not None:
                    said = f"{filler:g}, the filler in {name} {tuple(values.shape)}"
                    self.seen[op.site] = (op.name, hidden, said, _mask_argument(op, mask))
                    return

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items()]

    def finding(self, site, name, hidden, filler, node):
        rows, keys = hidden.shape
        kept = int((~hidden).sum())
        empty = int(hidden.all(1).sum())
        evidence = [
            (
                f"{int(hidden.sum())} of {rows * keys} keys are hidden, and the {kept} that are "
                f"left all hold {filler}"
            )
        ]
        if empty:
            evidence.append(f"rows without padding, which have no key left: {empty} of {rows}")
        fixes = []
        if node is not None:
            text = changes.atom(site.source, node)
            text = f"(1 - {text})" if name == "mul" else f"~{text}"
            fixes.append(site.source.fix(node, text))
        return found(
            "padding-mask-inverted", "wrong result", site,
            "the mask hides the tokens and keeps the padding", evidence, [], fixes,
        )  # fmt: skip


def _given_mask(op):
    """(the mask that an op applies, whether it is true where a key is hidden), or (None, False)."""
    if op.name == "mul":
        mask, low, hides = op.argument(0, "input"), op.argument(1, "other"), True
    elif op.name == ATTENTION:
        mask, low, hides = op.argument(3, "attn_mask"), LOW, False
    elif op.name == "where":
        mask, low, hides = op.argument(0, "condition"), op.argument(2, "other"), False
        if _is_low(op.argument(1, "input")):
            low, hides = op.argument(1, "input"), True
    else:
        mask, low, hides = op.argument(1, "mask"), op.argument(2, "value"), True
    usable = isinstance(mask, _C.TensorBase) and mask.device.type == "cpu" and mask.dim() >= 2
    if not usable or not _is_low(low) or (op.name != "mul" and mask.dtype is not rushlight.bool):
        return None, False
    if op.name == "mul" and bool(((mask != 0) & (mask != 1)).any()):
        return None, False
    return mask, hides


def _by_key(hidden):
    """The (rows, keys) that a bool mask hides, where it hides the same ones from all queries."""
    hidden = hidden.bool()
    while hidden.dim() > 2:
        if hidden.shape[1] > 1 and bool((hidden != hidden[:, :1]).any()):
            return None
        hidden = hidden[:, 0]
    return hidden if hidden.numel() and min(hidden.shape) > 1 else None


def is_filling(kept) -> bool:
    """Whether the ends of rows are kept, or their beginnings, more of one row than of another."""
    counts = kept.sum(1)
    if int(counts.min()) == int(counts.max()):
        return False
    steps = rushlight.arange(kept.shape[1])
    counts = counts[:, None]
    return any(
        bool((kept == ends).all()) for ends in (steps >= kept.shape[1] - counts, steps < counts)
    )


def _tensors_in(names: dict) -> list:
    """(name, tensor) of the tensors among local names, and in lists, tuples and dicts there."""
    out = []
    for name, value in list(names.items()):
        parts = value.values() if isinstance(value, dict) else value
        parts = parts if isinstance(value, (dict, list, tuple)) and len(value) < 20 else [value]
        tensors = [p.detach() for p in parts if isinstance(p, _C.TensorBase)]
        out += [(name, t) for t in tensors if t.dim() in (2, 3) and t.device.type == "cpu"]
    return [(name, t) for name, t in out if t.dtype is not rushlight.bool]


def _filler_kept(hidden, values) -> float | None:
    """The one value at all keys that are kept, where the hidden ones hold others; else None."""
    if values.shape[:2] != hidden.shape:
        values = values.transpose(0, 1)
        if values.shape[:2] != hidden.shape:
            return None
    kept, others = values[~hidden], values[hidden]
    filler = kept.flatten()[0]
    filled = others == filler
    if bool((kept != filler).any()) or bool((filled.all(1) if values.dim() > 2 else filled).any()):
        return None
    return float(filler) if len(others.flatten()[:1000].unique()) > 2 else None


def _mask_argument(op, mask):
    """The node of what an op's call got as its mask, or None."""
    call, name = places.call_at(op.site), op.name
    if name == "mul":
        return places.operand(op.site, 0)
    if call is None:
        return None
    own = called(call) == name
    if own and name.startswith("masked_fill"):
        return changes.keyword(call, "mask") or places.operand(op.site, 1)
    if own and name == "where":
        return places.operand(op.site, 0)
    given = [k.value for k in call.keywords if k.arg and "mask" in k.arg] or call.args
    for node in given:
        value = _C._locals(op.frame).get(node.id) if isinstance(node, ast.Name) else None
        made = places.origin_node(mask)
        if value is mask or (made is not None and made[1] is node):
            return node
    padding = [k.value for k in call.keywords if k.arg and k.arg.endswith("key_padding_mask")]
    return padding[0] if len(padding) == 1 else None
