"""Ops without a slope on the way to the loss: argmax, rounding, comparisons."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..places import found
from .parameters import _leaves_of

kind(
    "gradient-without-slope",
    "An op without a slope stands between parameters and the loss",
    """
argmax, a comparison and a conversion to whole numbers leave the graph; round, sign, floor and ceil
stay in it with the gradient 0 everywhere. What comes before them cannot learn through them. Train
on something smooth: softmax in place of argmax, the probability in place of the decision; or let
the gradient pass straight through: x + (x.round() - x).detach().
""",
)

STEPS = ("round", "sign", "floor", "ceil", "trunc", "heaviside", "sgn")
CHOICES = ("argmax", "argmin", "gt", "lt", "ge", "le", "__gt__", "__lt__", "argsort", "long", "int",
           "bool")  # fmt: skip


@check
class WithoutSlope(Check):
    kinds = ("gradient-without-slope",)
    needs: ClassVar = {"*": ("step", 2, "fewer than 2 optimizer steps")}

    def start(self, doctor):
        self.cuts, self.steps, self.lively = {}, 0, set()
        self.held = {}
        watch = doctor.watch
        watch.on("op", self.op, {*STEPS, *CHOICES})
        watch.on("step", self.step)

    def op(self, op):
        given = op.args[0] if op.args else None
        if isinstance(given, _C.TensorBase) and given.grad_fn is not None:
            entry = self.cuts.get(op.site)
            if entry is None:
                entry = self.cuts[op.site] = [op.name, op.site, _leaves_of(given), 0]
            entry[3] += 1

    def step(self, optimizer):
        self.steps += 1
        if not self.cuts or (self.steps > 16 and self.steps % 16):
            return
        for p in places.parameters_of(optimizer):
            if id(p) in self.lively or not p.requires_grad:
                continue
            self.held[id(p)] = p
            if p.grad is not None and bool((p.grad.detach() != 0).any()):
                self.lively.add(id(p))

    def findings(self, doctor):
        dead = {i: p for i, p in self.held.items() if i not in self.lively}
        if self.steps < 3 or not dead or len(dead) == len(self.held):
            return []
        out, told = [], set()
        for name, site, leaves, count in self.cuts.values():
            mine = (leaves & dead.keys()) - told
            if mine and count >= 0.5 * self.steps and not leaves & self.lively:
                told |= mine
                out.append(self.finding(name, site, [dead[i] for i in mine]))
        return out

    def finding(self, name, site, parameters):
        values = sum(p.numel() for p in parameters)
        none = all(p.grad is None for p in parameters)
        evidence = [
            (
                f"{len(parameters)} parameters ({values:,} values) come to the loss through {name} "
                f"alone: their gradient was {'none' if none else '0 throughout'} in {self.steps} "
                "steps"
            )
        ]
        fixes, inner = [], places.operand(site, 0)
        if name in STEPS and isinstance(site.node, ast.Call) and inner is not None:
            source = site.source
            text, whole = source.segment(inner), source.segment(site.node)
            text = text if isinstance(inner, (ast.Name, ast.Call)) else f"({text})"
            new = f"{text} + ({whole} - {text}).detach()"
            if not isinstance(site.node.parent, (ast.Assign, ast.Return, ast.Call)):
                new = f"({new})"
            fixes.append(Fix(f"{new}: straight through", [source.replace((site.node, new))]))
        return found(
            "gradient-without-slope", "wrong result", site,
            f"{name} lets no gradient through to what comes before it", evidence, [], fixes,
        )  # fmt: skip
