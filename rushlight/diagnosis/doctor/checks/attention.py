"""Attention whose weights do not sum to one over the keys."""

from __future__ import annotations

from typing import ClassVar

from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "softmax-over-queries",
    "Attention weights sum to one over the wrong dimension",
    """
Scores of attention are (..., queries, keys), and weights @ values sums over the keys: softmax has
to run over the last dimension, so that each query's weights sum to one. Along another dimension
queries (or samples, or heads) compete with each other instead; nothing raises, and the model learns
slowly and depends on what else is in the batch. Write dim=-1.
""",
)

SOFTMAX = ("softmax", "_softmax", "special_softmax")
PRODUCTS = ("matmul", "__matmul__", "bmm")


@check
class OverQueries(Check):
    kinds = ("softmax-over-queries",)
    needs: ClassVar = {"*": (f"op {' '.join(SOFTMAX)}", 1, "no softmax was seen")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, {*SOFTMAX, *PRODUCTS, "dropout", "dropout_"})

    def op(self, op):
        if op.name in SOFTMAX:
            dim, shape = op.argument(1, "dim"), op.result.shape
            if isinstance(dim, int) and len(shape) > 2 and dim % len(shape) != len(shape) - 1:
                op.facts = (("softmax", op.site, dim % len(shape), op.module),)
            return
        made = op.source
        if made is None or not made.passed or made.passed[0][0] != "softmax":
            return
        if op.name not in PRODUCTS:
            op.facts = made.passed
            return
        _, site, dim, module = made.passed[0]
        weights = op.args[0].detach()
        if site not in self.seen and weights.device.type == "cpu":
            sums = weights.float().sum(-1)
            low, high = float(sums.min()), float(sums.max())
            if high - low > 0.01:
                self.seen[site] = (site, dim, module, tuple(weights.shape), low, high, op.site)

    def findings(self, doctor):
        return [self.finding(*one) for one in self.seen.values()]

    def finding(self, site, dim, module, shape, low, high, product):
        at, source, call, fixes = site, site.source, places.call_at(site), []
        built = places.built(module) if module is not None else None
        if built is not None:
            source, call = built
            at = (source.file, call.lineno)
        if call is not None:
            node = places.dimension(call, dim, dim - len(shape))
            fixes = [source.fix(node, "-1", "dim=-1")] if node is not None else []
        return found(
            "softmax-over-queries", "wrong result", at,
            f"softmax over dimension {dim} of {shape}; the product sums over the last",
            [f"each query's weights sum to {low:.2g} ... {high:.2g}, not to 1"],
            [(product, "the product with the values")], fixes,
        )  # fmt: skip
