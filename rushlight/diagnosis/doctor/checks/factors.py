"""Schedules by a function whose value is taken for the rate, and is a factor of it."""

from __future__ import annotations

import ast
from typing import ClassVar

from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "lambda-gives-rate",
    "LambdaLR's function returns a rate, and its value is a factor",
    """
LambdaLR multiplies the optimizer's rate by what its function returns. A function that returns the
rate itself, 0.1 * 0.9 ** epoch for a rate of 0.1, gives 0.01 in the first epoch: every step is as
much too small as the rate is. Return a factor that begins at 1, or give the optimizer lr=1.
""",
)


@check
class Factor(Check):
    kinds = ("lambda-gives-rate",)
    needs: ClassVar = {"*": ("scheduler", 1, "no scheduler was made")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("scheduler", self.scheduler)

    def scheduler(self, scheduler):
        functions, site = getattr(scheduler, "lr_lambdas", None), places.here()
        if type(scheduler).__name__ != "LambdaLR" or not functions or site is None:
            return
        base, group = scheduler.base_lrs[0], scheduler.optimizer.param_groups[0]
        if not 0 < base < 0.5 or abs(group["lr"] - base * base) > 1e-9 * base:
            return
        values = [float(functions[0](k)) for k in range(20)]
        if max(values) <= values[0] * 1.0001:  # else a warm-up that begins at this factor
            self.seen[site] = (base, group["lr"])

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items()]

    def finding(self, site, base, rate):
        call, fixes = places.call_at(site), []
        for node in ast.walk(call) if call is not None else ():
            if isinstance(node, ast.Lambda):
                text = f"({site.source.segment(node.body)}) / {base:g}"
                fixes = [site.source.fix(node.body, text)]
                break
        return found(
            "lambda-gives-rate", "wrong number", site,
            "the function gives a rate where a factor is wanted",
            [f"the optimizer's rate {base:g} times the function's {base:g}: it begins at {rate:g}"],
            [], fixes,
        )  # fmt: skip
