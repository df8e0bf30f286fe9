"""Samples that carry no gradient where one is wanted."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import upstream
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "sample-cuts-gradient",
    "A distribution's sample() cuts the gradient to its parameters",
    """
sample() draws under no_grad: what is computed from it reaches neither mean nor scale. rsample()
writes the draw as mean + scale * noise, and gradients pass to both: what a variational
auto-encoder's decoder has to tell its encoder. sample() is right where log_prob carries the
gradient instead, as in policy gradients.
""",
)
READING = ("linear", "addmm", "matmul", "mm", "cat", "conv2d", "conv_transpose2d", "mul", "add")


@check
class Samples(Check):
    kinds = ("sample-cuts-gradient",)
    needs: ClassVar = {
        "*": ("step", 1, "no optimizer stepped"),
    }

    def start(self, doctor):
        self.drawn, self.used = {}, {}
        self.watch = doctor.watch
        doctor.watch.on("step", lambda optimizer: None)
        doctor.watch.on("op", self.op, ("normal",))

    def op(self, op):
        base = getattr(op.args[0], "_base", None) if op.args else None
        learns = isinstance(base, _C.TensorBase) and base.requires_grad
        if not learns or called(op.site.node) != "sample" or op.result.requires_grad:
            return
        if not self.drawn:
            self.watch.on("op", self.read, READING)
        self.drawn[op.site] = self.drawn.get(op.site, 0) + 1

    def read(self, op):
        """What is computed of samples and learns."""
        for a in op.args:
            made = op.calls.made(a) if isinstance(a, _C.TensorBase) else None
            if made is not None and made.root.site in self.drawn and op.result.requires_grad:
                self.used[made.root.site] = op.site

    def findings(self, doctor):
        nodes = (n for source in upstream.program_sources() for n in ast.walk(source.tree))
        if not self.used or any(getattr(n, "attr", "") == "log_prob" for n in nodes):
            return []
        return [
            self.finding(site, use)
            for site, use in self.used.items()
            if self.drawn[site] >= 3 and places.no_grad_around(site.source, site.node) is None
        ]

    def finding(self, site, use):
        func = site.node.func
        text = f"{site.source.segment(func.value)}.rsample"
        return found(
            "sample-cuts-gradient", "wrong result", site, "sample() cuts the gradient",
            [f"{self.drawn[site]} calls of sample() whose mean requires grad, 0 of log_prob"],
            [(use, "computed from the sample")],
            [site.source.fix(func, text, "rsample()")],
        )  # fmt: skip
