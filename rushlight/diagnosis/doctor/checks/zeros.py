"""Weights that begin at zero in several layers, so that none of them gets a gradient."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _C

from ... import upstream
from ...registry import Check, check, kind
from ...values import parameters_of
from ..places import found

kind(
    "weights-all-zero",
    "Weights that were set to zero stay zero",
    """
With the weights of two layers in a row at zero, the values between them are zero and so are the
gradients of both: the weights never move, only the last bias learns. Equal weights have a milder
form of it, all units of a layer stay alike. Begin with small random numbers (the layers' default,
or nn.init.normal_); zero is for biases, and for the last layer of a branch.
""",
)
LEAST_STEPS = 5


@check
class Zeros(Check):
    kinds = ("weights-all-zero",)
    needs: ClassVar = {"*": ("step", LEAST_STEPS, "fewer than 5 optimizer steps")}

    def start(self, doctor):
        self.held, self.steps, self.passes = {}, 0, doctor.passes
        doctor.watch.on("step", self.step)

    def step(self, optimizer):
        self.steps += 1
        if self.steps > LEAST_STEPS and not self.held:
            return
        for p in parameters_of(optimizer):
            if p.dim() < 2 or p.grad is None or p.device.type != "cpu":
                continue
            if self.steps > 1 and id(p) not in self.held:
                continue
            dead = not bool((p.detach() != 0).any()) and not bool((p.grad.detach() != 0).any())
            if dead:
                known = self.held.get(id(p))
                writer = known[2] if known is not None else _C._last_writer(p)
                self.held[id(p)] = (p, self.steps, writer)
            else:
                self.held.pop(id(p), None)

    def findings(self, doctor):
        kept = [(p, writer) for p, last, writer in self.held.values() if last == self.steps]
        if self.steps < LEAST_STEPS or len(kept) < 2:
            return []
        left, writer = [p for p, _ in kept], kept[0][1]
        spot = upstream.of_place(writer)
        if spot is None:
            return []
        source, node, fixes = spot.source, spot.node, []
        names = self.passes.parameter_names()
        shown = ", ".join(names.get(id(p), "?") for p in left[:3])
        func = getattr(node, "func", None)
        if getattr(func, "attr", "") == "zeros_" and len(getattr(node, "args", ())) == 1:
            text = source.segment(func).removesuffix("zeros_") + "normal_"
            text = f"{text}({source.segment(node.args[0])}, std=0.02)"
            fixes.append(source.fix(node, text))
        return [
            found(
                "weights-all-zero", "wrong result", spot.place,
                f"{len(left)} weights were set to zero and get no gradient",
                [f"{shown}: all zero after {self.steps} steps, and so is each gradient"],
                [], fixes,
            )
        ]  # fmt: skip
