"""Two optimizers of one model, where another model's gradients are used by none."""

from __future__ import annotations

import ast
import difflib

from rushlight import _C

from ...registry import Check, check
from ...values import parameters_of
from .. import places
from ..places import found


@check
class Swapped(Check):
    kinds = ()  # optimizer-misses-parameters is told of by others

    def start(self, doctor):
        self.optimizers, self.steps, self.names = [], {}, {}
        self.passes = doctor.passes
        doctor.watch.on("optimizer", self.optimizer)
        doctor.watch.on("step", self.step)

    def optimizer(self, optimizer):
        self.optimizers.append((optimizer, places.here(), parameters_of(optimizer)))
        for frame in places.user_frames(3)[:3]:
            for room in (_C._locals(frame), frame.f_globals):
                for name, module in places.modules_in(room):
                    self.names.setdefault(id(module), name)

    def step(self, optimizer):
        self.steps[id(optimizer)] = self.steps.get(id(optimizer), 0) + 1

    def findings(self, doctor):
        first = {}
        everywhere = {id(p) for *_, held in self.optimizers for p in held}
        for optimizer, site, held in self.optimizers:
            if self.steps.get(id(optimizer), 0) < 3:
                continue
            other = first.setdefault(frozenset(id(p) for p in held), (optimizer, site))
            if other[0] is optimizer:
                continue
            for module, name in self.unheld(everywhere):
                one, two = sorted((site, other[1]), key=lambda s: _likeness(s, name))
                return [self.finding(two, one, module, name, self.steps[id(optimizer)])]
        return []

    def unheld(self, held):
        """(module, its name) of models by name that get gradients and that nobody holds."""
        for model in self.passes.models.values():
            name = self.names.get(id(model))
            parameters = [p for p in model.parameters() if p.requires_grad]
            unheld = not any(id(p) in held for p in parameters)
            if name and parameters and unheld and all(p.grad is not None for p in parameters):
                yield model, name

    def finding(self, site, other, module, name, steps):
        source, call, fixes = site.source, places.call_at(site), []
        same = [
            n
            for n in (ast.walk(call) if call is not None else ())
            if isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) in self.names.values()
        ]
        if len(same) == 1:
            fixes.append(source.fix(same[0], name, f"{name}.parameters()"))
        count = len(list(module.parameters()))
        return found(
            "optimizer-misses-parameters",
            "wrong result",
            site,
            f"two optimizers hold the same parameters, and none those of {name}",
            [f"{count} parameters of {name} got gradients; {steps} steps looked at changed none"],
            [(other, "the other optimizer of the same parameters")],
            fixes,
        )


def _likeness(site, name: str) -> float:
    """How much an optimizer's name is like a model's: ``optG`` belongs to ``netG``."""
    statement = site.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    text = ast.unparse(target) if target is not None else ""
    return difflib.SequenceMatcher(None, text, name).ratio()
