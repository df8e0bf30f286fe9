"""Switches that switch nothing: requires_grad of a module or misspelt, an optimizer's rate."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from ... import upstream
from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "freeze-without-effect",
    "requires_grad was set where nothing reads it",
    """
requires_grad belongs to tensors. module.requires_grad = False makes a plain attribute that nothing
reads, and all parameters go on learning. module.requires_grad_(False), with the underscore, sets it
on each of them. A name that is misspelt (p.requires_grads = False) makes an attribute as well.
""",
)
kind(
    "option-without-effect",
    "An option was set on the optimizer itself, which reads it from its groups",
    """
lr, weight_decay, momentum and betas stand in optimizer.param_groups, one value for each group.
optimizer.lr = 0.01 makes a plain attribute that no step reads: set group["lr"] of each group, or
let a scheduler do it.
""",
)


@check
class OnModule(Check):
    kinds = ("freeze-without-effect",)
    needs: ClassVar = {"*": ("step", 1, "no optimizer stepped")}

    def start(self, doctor):
        self.passes = doctor.passes
        doctor.watch.on("step", lambda optimizer: None)

    def findings(self, doctor):
        out = []
        for model in self.passes.models.values():
            for name, module in model.named_modules():
                wanted = vars(module).get("requires_grad")
                learning = [p for p in module.parameters() if p.requires_grad != wanted]
                if type(wanted) is bool and learning and not out:
                    out.append(self.finding(name, module, wanted, len(learning)))
        return out

    def finding(self, name, module, wanted, count):
        for source, node, target in _assigned("requires_grad"):
            if ast.unparse(node.value) != str(wanted) or _of_parameter(target):
                continue
            text = f"{source.segment(target.value)}.requires_grad_({wanted})"
            return found(
                "freeze-without-effect", "wrong result", (source.file, node.lineno),
                f"{type(module).__name__} has no switch requires_grad: its parameters have",
                [f"{count} parameters of {name or 'it'} go on with requires_grad {not wanted}"],
                [], [source.fix(node, text)],
            )  # fmt: skip
        return None


def _assigned(name: str) -> Iterator[tuple]:
    """(source, statement, target) of each ``X.NAME = ...`` in the program's files."""
    for source in upstream.program_sources():
        for node in ast.walk(source.tree):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(target, ast.Attribute) and target.attr == name:
                yield source, node, target


@check
class Misspelt(Check):
    kinds = ("freeze-without-effect",)

    def start(self, doctor):
        self.passes = doctor.passes

    def findings(self, doctor):
        named = {}
        for model in self.passes.models.values():
            for p in model.parameters():
                for name in places.misspelt_switches(p):
                    named.setdefault(name, {})[id(p)] = p
        return [self.finding(n, list(p.values())) for n, p in named.items()]

    def finding(self, name, parameters):
        apart = [p for p in parameters if p.requires_grad != getattr(p, name)]
        for source, node, target in _assigned(name) if apart else ():
            text = f"{source.segment(target.value)}.requires_grad"
            return found(
                "freeze-without-effect", "wrong result", (source.file, node.lineno),
                f"{name} is no attribute that autograd reads: requires_grad is",
                [f"{len(apart)} parameters have it, and requires_grad {apart[0].requires_grad}"],
                [], [source.fix(target, text)],
            )  # fmt: skip
        return None


@check
class OnOptimizer(Check):
    kinds = ("option-without-effect",)
    needs: ClassVar = {"*": ("optimizer", 1, "no optimizer was made")}

    def start(self, doctor):
        self.optimizers = []
        doctor.watch.on("optimizer", self.optimizer)

    def optimizer(self, optimizer):
        if len(self.optimizers) < 64:
            self.optimizers.append((optimizer, set(vars(optimizer))))

    def findings(self, doctor):
        out, told = [], set()
        for optimizer, before in self.optimizers:
            for name in sorted(vars(optimizer).keys() - before - told):
                value = vars(optimizer)[name]
                inside = [g[name] for g in optimizer.param_groups if name in g]
                if inside and any(v != value for v in inside):
                    told.add(name)
                    out.append(self.finding(optimizer, name, value, inside[0]))
        return out

    def finding(self, optimizer, name, value, inside):
        for source, node, target in _assigned(name):
            if ast.unparse(target.value) == "self":
                continue
            holder = source.segment(target.value)
            line = f'    group["{name}"] = {source.segment(node.value)}'
            edit = source.instead(node, f"for group in {holder}.param_groups:\n{line}")
            return found(
                "option-without-effect", "wrong result", (source.file, node.lineno),
                f"no step reads {name} from the optimizer itself",
                [f"{holder}.{name} is {value}, its group goes on with {name} {inside}"],
                [], [Fix(f'group["{name}"] of each group', [edit])],
            )  # fmt: skip
        return None


def _of_parameter(target: ast.Attribute) -> bool:
    """Whether the tensor of ``p.requires_grad = False`` comes from a loop over parameters."""
    node = target
    while node is not None and isinstance(target.value, ast.Name):
        if isinstance(node, ast.For) and "parameters" in ast.unparse(node.iter):
            return target.value.id in ast.unparse(node.target)
        node = getattr(node, "parent", None)
    return ast.unparse(target.value).endswith((".weight", ".bias"))
