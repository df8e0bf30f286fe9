"""Training steps with a part left out, and parameters that have no part in them."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import nn

from ...finding import Edit, Fix
from ...frames import called
from ...registry import Check, check, kind
from ...values import parameters_of
from .. import places
from ..places import found

kind(
    "optimizer-never-steps",
    "Gradients are computed, and no optimizer ever steps",
    """
backward() fills .grad and changes no weight; optimizer.step() does. Without it the loss stays
where it was. A common form is the method named without parentheses: `optimizer.step` alone does
nothing.
""",
)
kind(
    "step-without-backward",
    "The optimizer steps, and no backward ever ran",
    """
step() uses what backward() left in .grad. Without a backward all gradients are None: step() skips
every parameter, and nothing learns.
""",
)
kind(
    "frozen-parameters-change",
    "Parameters that were frozen go on changing",
    """
requires_grad_(False) stops new gradients; it does not clear the old ones. Where .grad still holds
one, the optimizer uses it at every step. Set .grad to None when freezing, or leave the parameters
out of the optimizer.
""",
)
kind(
    "parameters-unused",
    "The optimizer holds parameters of modules that are never called",
    """
A layer that was made, given to the optimizer and never called gets no gradient and keeps its first
values. Either forward leaves it out by mistake, or it is not needed: then remove it.
""",
)


class State:
    """What one optimizer did; ``before`` backwards ran until it was made."""

    def __init__(self, optimizer, site, before):
        self.optimizer, self.site, self.before = optimizer, site, before
        self.steps = 0
        self.step_site = None
        self.frozen: dict[int, list] = {}


@check
class Steps(Check):
    kinds = (
        "optimizer-never-steps",
        "step-without-backward",
        "frozen-parameters-change",
        "parameters-unused",
    )
    needs: ClassVar = {
        "*": ("optimizer", 1, "no optimizer was made"),
        "frozen-parameters-change": ("stepped", 1, "no optimizer stepped"),
        "parameters-unused": ("stepped", 3, "fewer than 3 optimizer steps"),
    }

    def start(self, doctor):
        self.states, self.called, self.ran = {}, set(), set()
        self.passes = doctor.passes
        watch = doctor.watch
        watch.on("optimizer", self.optimizer)
        watch.on("backward", self.backward, always=True)  # what is absent is told of: all count
        watch.on("step", self.step, always=True)
        watch.on("stepped", self.stepped)
        watch.on("forward", self.forward)
        self.before = []
        self.backwards, self.backward_site = 0, None

    def optimizer(self, optimizer):
        self.states[id(optimizer)] = State(optimizer, places.here(), self.backwards)

    def forward(self, module, args, output):
        self.ran.add(id(module))

    def backward(self, tensor, arguments):
        self.backwards += 1
        self.backward_site = places.here()

    def step(self, optimizer):
        state = self.states.get(id(optimizer))
        self.before = []
        if state is None:
            return
        state.steps += 1
        if state.steps == 1:
            state.step_site = places.here()
        if state.steps > 4 and state.steps % 16:
            return
        for group in optimizer.param_groups:
            for p in group["params"]:
                if not p.requires_grad and p.grad is not None and len(self.before) < 8:
                    self.before.append((p, p.detach().clone()))

    def stepped(self, optimizer):
        state = self.states.get(id(optimizer))
        for p, old in self.before:
            if bool((p.detach() != old).any()):
                entry = state.frozen.setdefault(id(p), [p, 0])
                entry[1] += 1
        self.before = []

    def findings(self, doctor):
        out = []
        for state in self.states.values():
            if state.site is None:
                continue
            backwards = self.backwards - state.before
            if not state.steps and backwards >= 3 and self.gave_gradients(state):
                if doctor.error is None or not _has_step_ahead(self.backward_site):
                    out.append(self.never_steps(state))
            elif state.steps >= 3 and not backwards and not self.has_gradients(state):
                out.append(self.no_backward(state))
            if state.frozen:
                out.append(self.frozen(state))
            if state.steps >= 3 and backwards:
                out += self.unused(state)
        return out

    def gave_gradients(self, state) -> bool:
        """Whether backward reached what it holds, and no other optimizer steps the same."""
        mine = {id(p) for p in parameters_of(state.optimizer) if p.grad is not None}
        for other in self.states.values():
            if (
                other is not state
                and other.steps
                and mine & {id(p) for p in parameters_of(other.optimizer)}
            ):
                return False
        return bool(mine)

    def has_gradients(self, state) -> bool:
        return any(p.grad is not None for p in parameters_of(state.optimizer))

    def never_steps(self, state):
        back, fixes, at = self.backward_site, [], self.backward_site
        backwards = self.backwards - state.before
        evidence = [f"{backwards} backward calls filled gradients, 0 steps used them"]
        name = _bound_name(state.site)
        statement = back.statement
        if name is not None:
            named = places.named_only(back.source, name, "step")
            if named is not None:
                at = (back.file, named.lineno)
                edit = back.source.replace((named.value, f"{name}.step()"))
                fixes.append(Fix(f"{name}.step(): it was named, not called", [edit]))
            elif statement is not None and back.file == state.site.file:
                edit = back.source.insert_after(statement, f"{name}.step()")
                fixes.append(Fix(f"{name}.step() after backward", [edit]))
        kind_ = type(state.optimizer).__name__
        return found(
            "optimizer-never-steps", "wrong result", at, f"{kind_} never steps", evidence,
            [(state.site, "the optimizer")], fixes,
        )  # fmt: skip

    def no_backward(self, state):
        site, fixes = state.step_site or state.site, []
        evidence = [f"{state.steps} steps, 0 backward calls: no parameter has a gradient"]
        loss = self.loss_before(site)
        if loss is not None:
            edit = site.source.insert_before(site.statement, f"{loss}.backward()")
            fixes.append(Fix(f"{loss}.backward() before the step", [edit]))
            named = places.named_only(site.source, loss, "backward")
            if named is not None:
                edit = site.source.replace((named.value, f"{loss}.backward()"))
                fixes = [Fix(f"{loss}.backward(): it was named, not called", [edit])]
                site = (site.file, named.lineno)
        return found(
            "step-without-backward", "wrong result", site, "steps without any backward", evidence,
            [(state.site, "the optimizer")], fixes,
        )  # fmt: skip

    def loss_before(self, site) -> str | None:
        """A name with "loss" in it that is assigned before the step in the same block."""
        block = getattr(getattr(site.statement, "parent", None), "body", [])
        for statement in reversed(block):
            if statement.lineno < site.line and isinstance(statement, ast.Assign):
                target = statement.targets[0]
                if isinstance(target, ast.Name) and "loss" in target.id.lower():
                    return target.id
        return None

    def frozen(self, state):
        parameters = [p for p, _ in state.frozen.values()]
        names = self.passes.parameter_names()
        count = max(n for _, n in state.frozen.values())
        shown = ", ".join(names.get(id(p), "a parameter") for p in parameters[:3])
        evidence = [
            (
                f"{shown}: requires_grad is False, .grad still holds one, and {count} of the "
                "steps looked at changed them"
            )
        ]
        at, fixes = _freezing(state.site.source) or (state.site, [])
        return found(
            "frozen-parameters-change", "wrong result", at, "frozen parameters go on changing",
            evidence, [(state.step_site, "the step that changes them")], fixes,
        )  # fmt: skip

    def unused(self, state):
        """Modules whose parameters got no gradient in any step, and that never ran."""
        all_held, out = parameters_of(state.optimizer), []
        held = {id(p) for p in all_held if p.grad is None}
        for model in list(self.passes.models.values()):
            for name, module in model.named_modules():
                own = list(module.parameters(recurse=False))
                if not own or id(module) in self.ran or not all(id(p) in held for p in own):
                    continue
                if not isinstance(module, nn.Module) or self.is_inside_of_a_fused_one(model, name):
                    continue
                out.append((model, name, module, own))
        if not out or len({id(p) for *_, own in out for p in own}) == len(all_held):
            return []
        return [self.unused_finding(state, out)]

    def is_inside_of_a_fused_one(self, model, name: str) -> bool:
        """Whether a module around it ran in one call (attention's projection, say)."""
        while name:
            name = name.rpartition(".")[0]
            outer = model.get_submodule(name)
            if type(outer).__module__.startswith("rushlight") and list(
                outer.parameters(recurse=False)
            ):
                return True
        return False

    def unused_finding(self, state, unused):
        _, name, module, _ = unused[0]
        built = places.built(module)
        names = ", ".join(n for _, n, _, _ in unused[:4])
        count = sum(p.numel() for *_, own in unused for p in own)
        evidence = [
            (
                f"{names}: called 0 times, no gradient in {state.steps} steps; the optimizer holds "
                f"its {count:,} values"
            )
        ]
        at = (built[0].file, built[1].lineno) if built is not None else state.site
        title = f"{name} is never called"
        return found(
            "parameters-unused", "note", at, title, evidence, [(state.site, "the optimizer")], []
        )


def _has_step_ahead(back) -> bool:
    """Whether a ``step`` is called where backward is: an error may have come before it."""
    return any(called(n) == "step" for n in ast.walk(back.source.tree)) if back.source else False


def _bound_name(site) -> str | None:
    """What an optimizer's call is assigned to: ``opt``, ``self.opt``."""
    statement = site.statement
    if isinstance(statement, ast.Assign) and statement.value is places.call_at(site):
        return site.source.segment(statement.targets[0])
    return None


def _freezing(source):
    """Where parameters are frozen, and the same with their gradients cleared."""
    found_ = places.freezing(source)
    if found_ is None:
        return None
    node, target = found_
    holder, statement = source.segment(target), source.statement_of(node)
    in_loop = isinstance(target, ast.Name) and source.loops_around(statement)
    line = f"{holder}.grad = None" if in_loop else f"{holder}.zero_grad(set_to_none=True)"
    edit = source.insert_after(statement, line)
    if statement.lineno == getattr(statement.parent, "lineno", 0):  # a loop on one line
        text = source.lines[statement.lineno - 1] + f"; {line}"
        edit = Edit(source.file, statement.lineno, statement.end_lineno, text)
    return (source.file, node.lineno), [Fix(f"{line} with it", [edit])]
