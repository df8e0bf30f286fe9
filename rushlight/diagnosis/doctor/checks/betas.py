"""Optimizers whose two running means were given each other's factor."""

from __future__ import annotations

import ast

from ... import construction, decided
from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..calls import site_of
from ..places import found

kind(
    "betas-swapped",
    "The first of Adam's betas is larger than the second",
    """
Adam's betas are (momentum, memory of the squares): the first averages gradients over 1 / (1 - beta)
steps, 10 for 0.9, the second their squares over 1000. With (0.999, 0.9) each step follows what the
gradients were a thousand steps ago, and is divided by the size of the last ten: the weights
overshoot and swing. The second beta has to be the larger one.
""",
)

LEAST_RATIO = 2.0  # of the steps that the two average over


@check
class Betas(Check):
    kinds = ("betas-swapped",)

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("optimizer", self.optimizer)

    def optimizer(self, optimizer):
        for group in optimizer.param_groups:
            betas = group.get("betas")
            if not isinstance(betas, (tuple, list)) or len(betas) != 2:
                continue
            spans = [1 / (1 - float(b)) for b in betas if float(b) < 1]
            if len(spans) == 2 and spans[0] >= LEAST_RATIO * spans[1]:
                sites = [site_of(frame) for frame in places.user_frames()]
                name = type(optimizer).__name__
                self.seen.setdefault(sites[0] if sites else None, (name, betas, spans, sites[1:]))

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items() if site is not None]

    def finding(self, site, name, betas, spans, outer):
        one, two = betas
        evidence = [
            (
                f"{name} averages gradients over {spans[0]:.0f} steps (beta {one:g}) and their "
                f"squares over {spans[1]:.0f} (beta {two:g})"
            )
        ]
        at, fixes, call = site, [], places.call_at(site)
        given = construction.argument(call, 2, "betas") if call is not None else None
        if given is not None:
            callers = [(s.source, places.call_at(s)) for s in outer]
            steps = [construction.Step(*one) for one in callers if one[1] is not None]
            decision = decided.follow(site.source, given, steps)
            if isinstance(decision.node, (ast.Tuple, ast.List)):
                at = decision.place
                fixes.append(decision.fix(f"({two:g}, {one:g})"))
            else:
                fixes.append(Fix(f"betas=({two:g}, {one:g})"))
        return found(
            "betas-swapped", "wrong result", at, "Adam's two betas stand in each other's place",
            evidence, [], fixes,
        )  # fmt: skip
