"""Similarities of samples to themselves in a contrastive loss."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes
from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..passes import CLASS_LOSSES
from ..places import found

kind(
    "similarity-to-itself",
    "A contrastive loss lets each sample compete with its similarity to itself",
    """
z @ z.T holds each sample's similarity to itself on the diagonal, the largest of its row, and the
same for all. In a cross-entropy whose label is another sample it stands among the wrong answers:
the loss cannot fall below that, and pushes nothing apart. Take it out before the loss:
scores.masked_fill(torch.eye(n, dtype=torch.bool), float("-inf")).
""",
)

LEAST_LOOKS = 3
LOOKS = 16


@check
class Itself(Check):
    kinds = ("similarity-to-itself",)
    needs: ClassVar = {"*": (f"op {' '.join(CLASS_LOSSES)}", 1, "no such loss was seen")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, CLASS_LOSSES)

    def op(self, op):
        scores, labels = op.args[:2] if len(op.args) > 1 else (None, None)
        usable = isinstance(scores, _C.TensorBase) and scores.dim() == 2 and scores.requires_grad
        if not usable or not scores.shape[0] == scores.shape[1] >= 4 or labels.dim() != 1:
            return
        entry = self.seen.setdefault(op.site, [op, 0, 0, 0, 0.0])
        if entry[1] >= LOOKS or entry[2] < entry[1]:
            return
        entry[1] += 1
        own = scores.detach().diagonal()
        largest = scores.detach().amax(1)
        is_one = float(own.max() - own.min()) <= 1e-3 * float(own.abs().max())
        on_it = bool((labels == labels.new_tensor(range(len(labels)))).any())
        entry[2] += is_one and not on_it and bool((own >= largest - 1e-4).all())
        entry[3], entry[4] = len(own), float(own[0])

    def findings(self, doctor):
        return [self.finding(*one) for one in self.seen.values() if one[1] == one[2] >= LEAST_LOOKS]

    def finding(self, op, looks, _, count, value):
        site = op.site
        call, source = places.call_at(site), site.source
        node = places.at_place(call.args, 0) if call is not None else None
        fixes = [Fix("scores.masked_fill(diagonal, -inf) before the loss")]
        if isinstance(node, ast.Name):
            torch, name = changes.torch_name(source), node.id
            own = f"{torch}.eye(len({name}), dtype={torch}.bool)"
            line = f'{name} = {name}.masked_fill({own}, float("-inf"))'
            fixes = [Fix(line, [source.insert_before(site.statement, line)])]
        return found(
            "similarity-to-itself", "wrong result", site,
            "each sample competes with its similarity to itself", [
                (
                    f"the largest of each of {count} rows of scores is the diagonal, {value:.3g} "
                    f"in all of them, and no label stands there ({looks} losses looked at)"
                )
            ],
            [], fixes,
        )  # fmt: skip
