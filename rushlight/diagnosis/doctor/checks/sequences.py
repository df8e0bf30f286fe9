"""Batches of one that lose a dimension."""

from __future__ import annotations

import ast
from typing import ClassVar

from ... import changes
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "squeeze-drops-batch",
    "squeeze() took the batch dimension away where the batch had one sample",
    """
squeeze() without an argument removes all dimensions of size 1, the batch's as well: a last batch of
one sample, or batch_size=1 at inference, comes out with one dimension less. The loss then
broadcasts, indexing takes features for samples, or the next layer fails, once in an epoch. Say
which dimension is meant: squeeze(-1).
""",
)


@check
class Squeezed(Check):
    kinds = ("squeeze-drops-batch",)
    needs: ClassVar = {"*": ("op squeeze", 2, "fewer than 2 calls of squeeze")}

    def start(self, doctor):
        self.seen = {}  # by site: [calls with more in the first dimension, their shape, with one]
        doctor.watch.on("op", self.op, ("squeeze",))

    def op(self, op):
        if len(op.args) != 1 or op.kwargs or op.args[0].dim() < 2:
            return
        shape = tuple(op.args[0].shape)
        entry = self.seen.setdefault(op.site, [0, None, None])
        if shape[0] > 1:
            entry[0], entry[1] = entry[0] + 1, shape
        elif shape[0] == 1:
            entry[2] = shape

    def findings(self, doctor):
        return [
            self.finding(site, count, many, one)
            for site, (count, many, one) in self.seen.items()
            if many is not None and one is not None and _alike(many, one)
        ]

    def finding(self, site, count, many, one):
        node, source = site.node, site.source
        others = [n - len(many) for n in range(1, len(many)) if many[n] == 1]
        fixes, tensor = [], places.operand(site, 0)
        if isinstance(node, ast.Call) and tensor is not None:
            which = str(others[0]) if len(others) == 1 else f"({', '.join(map(str, others))})"
            new = changes.method(source, tensor, f"squeeze({which})")
            fixes.append(source.fix(node, new))
        left = tuple(n for n in one if n != 1)
        evidence = [
            (
                f"{count} calls took {many} to {tuple(n for n in many if n != 1)}; one took {one} "
                f"to {left}: the sample is no batch any more"
            )
        ]
        return found(
            "squeeze-drops-batch", "wrong result", site,
            "squeeze() removes the batch dimension where the batch has one sample",
            evidence, [], fixes,
        )  # fmt: skip


def _alike(many: tuple, one: tuple) -> bool:
    """Whether two shapes differ in the batch alone, and squeeze() had another 1 to take away.

    Without one the call was meant for the batch: an image that is shown, say.
    """
    return many[1:] == one[1:] and 1 in many[1:]
