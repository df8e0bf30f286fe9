"""Samplers that draw by weights which are not those of the rows."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C
from rushlight.utils.data import WeightedRandomSampler

from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "sampler-weights-of-classes",
    "A weighted sampler has fewer weights than the dataset has rows",
    """
WeightedRandomSampler wants one weight for each row, and draws row numbers from 0 to the number of
weights. With one weight for each class it draws the first rows alone, two of them for two classes,
and the model sees nothing else. Give each row the weight of its class: weights[labels].
""",
)


@check
class Samplers(Check):
    kinds = ("sampler-weights-of-classes",)
    needs: ClassVar = {"*": ("loader_made", 1, "no DataLoader was made")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("loader_made", self.made)
        doctor.watch.on("batch", self.batch)

    def made(self, loader):
        sampler = getattr(loader, "sampler", None)
        rows = getattr(loader.dataset, "__len__", None)
        if isinstance(sampler, WeightedRandomSampler) and rows is not None:
            weights, rows = len(sampler.weights), len(loader.dataset)
            if weights < rows and sampler.num_samples > weights:
                self.seen[id(loader)] = [loader, places.here(), weights, rows, 0]

    def batch(self, loader, batch):
        if self.seen and id(loader) in self.seen:
            parts = [p for p in places.parts_of(batch).values() if isinstance(p, _C.TensorBase)]
            self.seen[id(loader)][4] += len(parts[0]) if parts and parts[0].dim() else 0

    def findings(self, doctor):
        return [self.finding(*one[1:]) for one in self.seen.values() if one[1] and one[4]]

    def finding(self, site, weights, rows, drawn):
        evidence = [
            (
                f"the sampler has {weights} weights for {rows:,} rows: the {drawn:,} samples drawn "
                f"are rows 0 to {weights - 1}, again and again"
            )
        ]
        at, fixes = site, []
        call = _sampler_call(site)
        if call is not None and call.args:
            at = (site.file, call.lineno)
            given, source = call.args[0], site.source
            labels = _labels(source, given)
            if labels is not None:
                text = f"({source.segment(given)})[{labels}]"
                fixes.append(source.fix(given, text))
            else:
                fixes.append(Fix("the weight of each row's class: weights[labels]"))
        return found(
            "sampler-weights-of-classes", "wrong result", at,
            "the sampler's weights are those of classes, not of rows", evidence,
            [(site, "the loader")], fixes,
        )  # fmt: skip


def _sampler_call(site) -> ast.Call | None:
    """The call that made a loader's sampler, in its function."""
    source = site.source
    scope = source.function_of(site.node) or source.tree if source is not None else None
    calls = [n for n in ast.walk(scope) if called(n) == "WeightedRandomSampler"] if scope else []
    return calls[0] if len(calls) == 1 else None


def _labels(source, weights: ast.expr) -> str | None:
    """The labels that the weights were counted from: ``y`` of ``1 / torch.bincount(y)``."""
    parts = [weights, *(getattr(s, "value", None) for s in source.leading_to(weights))]
    counts = [n for p in parts if p is not None for n in ast.walk(p) if called(n) == "bincount"]
    args = {source.segment(n.args[0]) for n in counts if n.args}
    return args.pop() if len(args) == 1 else None
