"""Masks of attention that keep what they should hide."""

from __future__ import annotations

from typing import ClassVar

import rushlight
from rushlight import _C

from ... import changes
from ...finding import Fix
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


@check
class Causal(Check):
    kinds = ("causal-mask-inverted",)
    needs: ClassVar = {
        "*": ("op scaled_dot_product_attention masked_fill masked_fill_", 1, "no mask was seen")
    }

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on(
            "op", self.op, {"scaled_dot_product_attention", "masked_fill", "masked_fill_"}
        )

    def op(self, op):
        if op.site in self.seen:
            return
        attention = op.name == "scaled_dot_product_attention"
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
        name = "scaled_dot_product_attention"
        if call is not None:
            node = changes.keyword(call, "attn_mask") or changes.keyword(call, "mask")
            last = 3 if called(call) == name else 0
            node = node or (call.args[last] if len(call.args) > last else None)
            if node is not None:
                text = f"~{changes.atom(site.source, node)}"
                fixes.append(Fix(text, [site.source.replace((node, text))]))
        steps = shape[-1]
        evidence = [
            f"the mask {shape} keeps the keys after each of {steps} positions, not those before"
        ]
        return found(
            "causal-mask-inverted", "wrong result", site,
            "each position sees the future and not the past", evidence, [], fixes,
        )  # fmt: skip


def _is_low(value) -> bool:
    return isinstance(value, (int, float)) and value <= -1e4


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
