"""Losses over classes: weights against their frequency, padding that counts as a class."""

from __future__ import annotations

import ast
from typing import ClassVar

import rushlight
from rushlight import _C

from ... import changes, upstream
from ...registry import Check, check, kind
from .. import places
from ..passes import CLASS_LOSSES
from ..places import found

kind(
    "class-weights-inverted",
    "The frequent classes have the larger weights in the loss",
    """
Class weights are there to make the rare classes count: a class with a tenth of the labels wants a
weight about nine times that of the rest, such as total / count. Weights that grow with the counts
do the opposite, and the model learns to say the frequent class only. Turn the quotient round:
counts.sum() / counts.
""",
)
kind(
    "padding-counted-in-loss",
    "Filled-up positions count in the loss as if they were a class",
    """
Sequences of a batch are filled up to one length, and so are their labels. cross_entropy does not
know which label is a filler: the model is trained to predict it, the loss looks better than it is,
and long fillings drown the rest. Name the filler: ignore_index=PAD.
""",
)

LEAST_LABELS = 40


@check
class Weights(Check):
    kinds = ("class-weights-inverted",)
    needs: ClassVar = {"*": (f"op {' '.join(CLASS_LOSSES)}", 1, "no loss over classes was seen")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, CLASS_LOSSES)

    def op(self, op):
        target, weight = op.argument(1, "target"), op.argument(2, "weight")
        if not isinstance(weight, _C.TensorBase) or not isinstance(target, _C.TensorBase):
            return
        if target.is_floating_point() or weight.dim() != 1 or weight.device.type != "cpu":
            return
        entry = self.seen.setdefault(op.site, [weight, 0, 0, _C._origin(weight)])
        entry[2] += 1
        if entry[2] <= 32:
            kept = target.detach().flatten()
            kept = kept[(kept >= 0) & (kept < weight.numel())]
            entry[1] = entry[1] + rushlight.bincount(kept, minlength=weight.numel())

    def findings(self, doctor):
        out = []
        for site, (weight, counts, _, origin) in self.seen.items():
            if origin is None or int(counts.sum()) < LEAST_LABELS:
                continue
            pairs = list(zip(counts.tolist(), weight.tolist(), strict=True))
            if _grow_together(pairs):
                out.append(self.finding(site, origin, pairs))
        return out

    def finding(self, site, origin, pairs):
        total, spot, fixes = sum(c for c, _ in pairs), upstream.of_place(origin), []
        source, node = (spot.source, spot.node) if spot is not None else (None, None)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            text = f"{changes.atom(source, node.right)} / {changes.atom(source, node.left)}"
            fixes.append(source.fix(node, text))
        elif isinstance(node, ast.Call):
            text = f"1 / {source.segment(node)}"
            if not isinstance(node.parent, (ast.Assign, ast.Return, ast.Call, ast.keyword)):
                text = f"({text})"
            fixes.append(source.fix(node, text))
        ordered = sorted(range(len(pairs)), key=lambda k: -pairs[k][0])
        evidence = [
            f"class {k}: {pairs[k][0] / total:.0%} of the labels, weight {pairs[k][1]:.3g}"
            for k in (ordered[0], ordered[-1])
        ]
        return found(
            "class-weights-inverted", "wrong result", (origin[0], origin[2]),
            "the more frequent a class, the larger its weight", evidence,
            [(site, "the loss that takes them")], fixes,
        )  # fmt: skip


def _grow_together(pairs) -> bool:
    """Whether weights rise with counts: in all pairs of classes of clearly different frequency."""
    clear = [
        (a, b) for a in pairs for b in pairs if b[0] > 0 and a[0] >= 1.5 * b[0] and a[0] - b[0] > 9
    ]
    widest = max(w for _, w in pairs) >= 1.5 * min(w for _, w in pairs) > 0
    return widest and bool(clear) and all(a[1] > b[1] for a, b in clear)


@check
class Padding(Check):
    kinds = ("padding-counted-in-loss",)
    needs: ClassVar = {"*": ("op embedding", 1, "no embedding was used")}

    def start(self, doctor):
        self.filled, self.seen = None, {}
        doctor.watch.on("op", self.op, {*CLASS_LOSSES, "embedding"})

    def op(self, op):
        if op.name == "embedding":
            index = getattr(op.module, "padding_idx", None)
            tokens = next((a for a in op.args if _is_labels(a) and a.dim() == 2), None)
            if index is not None and tokens is not None:
                self.filled = tokens.detach() == index
            return
        target, filled = op.argument(1, "target"), self.filled
        if filled is None or not _is_labels(target) or target.numel() != filled.numel():
            return
        entry = self.seen.setdefault(op.site, [op.module, 0, 0, None, True])
        if not entry[4] or not op.result.requires_grad or op.result.dim() or entry[1] > 1 << 20:
            return
        ignored = getattr(op.module, "ignore_index", op.argument(4, "ignore_index", -100))
        labels, mask = target.detach().flatten(), filled.flatten()
        fillers = labels[mask].unique().tolist()
        if not fillers:
            entry[1] += labels.numel()
            return
        value = fillers[0]
        others = int((labels[~mask] == value).sum())
        entry[4] = (
            len(fillers) == 1 and value != ignored and entry[3] in (None, value)
            and others <= filled.shape[0] and others < 0.2 * int((~mask).sum())
        )  # fmt: skip
        entry[1], entry[3] = entry[1] + labels.numel(), value
        entry[2] += int(mask.sum())

    def findings(self, doctor):
        return [
            self.finding(site, *entry[:4])
            for site, entry in self.seen.items()
            if entry[4] and entry[3] is not None and entry[2] >= 0.05 * entry[1]
        ]

    def finding(self, site, module, labels, filled, value):
        built = places.built(module) if hasattr(module, "ignore_index") else None
        source, call = built if built is not None else (site.source, places.call_at(site))
        at, fixes = site, []
        if call is not None:
            at = (source.file, call.lineno)
            text = changes.with_keyword(source, call, "ignore_index", str(value))
            fixes.append(source.fix(call, text))
        return found(
            "padding-counted-in-loss", "wrong result", at,
            f"the loss counts filled-up positions as class {value}",
            [f"{filled:,} of {labels:,} labels ({filled / labels:.0%}) stand at padding tokens"],
            [(site, "the loss")] if built is not None else [], fixes,
        )  # fmt: skip


def _is_labels(value) -> bool:
    return isinstance(value, _C.TensorBase) and value.dtype == rushlight.int64
