"""Numbers that were to bring data or averages to a scale, and belong to another one."""

from __future__ import annotations

import ast
import re
from typing import ClassVar

from rushlight import _C
from rushlight.nn.modules.batchnorm import _BatchNorm

from ... import changes, decided
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "standardized-on-another-scale",
    "Data were standardized with the mean and deviation of another scale",
    """
(x - mean) / std gives numbers around 0 with a spread of 1 where mean and std are those of the data.
The usual ones of images (0.485, 0.229 ...) belong to pixels from 0 to 1: pixels from 0 to 255 come
out in the thousands. Divide the pixels by 255 first.
""",
)
kind(
    "norm-momentum-inverted",
    "A batch norm's momentum keeps the last batch and forgets the average",
    """
In this framework momentum is the weight of the new batch: running = (1 - momentum) * running +
momentum * batch, 0.1 by default. 0.99, as other frameworks count it, keeps one hundredth of the
average, and in eval mode the model normalises by the last batch alone. Write 1 - momentum.
""",
)

DEVIATIONS = re.compile(r"(?i)std|sigma|deviation")
FAR = 20.0  # in deviations
LEAST_VALUES = 64
LEAST_BATCHES = 10
LOOKS = 8


@check
class Standardized(Check):
    kinds = ("standardized-on-another-scale",)

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, ("div", "true_divide", "div_"))

    def op(self, op):
        if op.source is None or op.source.name not in ("sub", "sub_"):
            return
        entry = self.seen.get(op.site)
        if entry is None:
            node = places.operand(op.site, 1)
            is_named = node is not None and DEVIATIONS.search(ast.unparse(node))
            entry = self.seen[op.site] = [is_named, op.source.site, 0, 0, 0.0, 0.0]
        values = op.result
        if not entry[0] or entry[2] >= LOOKS or values.requires_grad:
            return
        if values.numel() < LEAST_VALUES or not values.is_floating_point():
            return
        entry[2] += 1
        mean, std = float(values.mean()), float(values.std())
        if abs(mean) > FAR or std > FAR:
            entry[3] += 1
            entry[4], entry[5] = mean, std

    def findings(self, doctor):
        return [
            self.finding(site, *one[1:])
            for site, one in self.seen.items()
            if one[3] and one[3] == one[2]
        ]

    def finding(self, site, difference, looks, _, mean, std):
        fixes, node = [], places.operand(difference, 0)
        if node is not None and isinstance(difference.node, ast.BinOp):
            source = difference.source
            text = f"{changes.atom(source, node)} / 255"
            fixes.append(source.fix(node, text))
        return found(
            "standardized-on-another-scale", "wrong result", site,
            "the data are standardized with numbers of another scale", [
                (
                    f"the result has mean {mean:.4g} and deviation {std:.4g} in place of about 0 "
                    f"and 1 ({looks} looked at)"
                )
            ],
            [], fixes,
        )  # fmt: skip


@check
class Momentum(Check):
    kinds = ("norm-momentum-inverted",)
    needs: ClassVar = {"*": ("forward", 1, "no module ran")}

    def start(self, doctor):
        self.passes = doctor.passes
        doctor.watch.on("forward", lambda module, args, output: None)

    def findings(self, doctor):
        norms = {
            id(m): m
            for model in self.passes.models.values()
            for m in model.modules()
            if isinstance(m, _BatchNorm) and 0.9 <= (m.momentum or 0) < 1
        }
        places_ = {}
        for norm in norms.values():
            tracked = norm.num_batches_tracked
            if isinstance(tracked, _C.TensorBase) and int(tracked) >= LEAST_BATCHES:
                decision = decided.of_argument(norm, 2, "momentum")
                if decision is not None and not decision.keyword:
                    places_.setdefault(decision.place, (decision, []))[1].append(norm)
        return [self.finding(*one) for one in places_.values()]

    def finding(self, decision, norms):
        momentum, batches = norms[0].momentum, int(norms[0].num_batches_tracked)
        return found(
            "norm-momentum-inverted", "wrong result", decision.place,
            f"momentum {momentum:g} keeps the last batch and forgets the average", [
                (
                    f"{len(norms)} batch norms: {momentum:.0%} of their running averages after "
                    f"{batches} batches are those of the last one"
                )
            ],
            [], [decision.fix(f"{1 - momentum:.3g}")],
        )  # fmt: skip
