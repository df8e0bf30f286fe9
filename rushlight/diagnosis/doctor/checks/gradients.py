"""Gradients between steps: cleared or not, when they are clipped, and scaled or not."""

from __future__ import annotations

import ast
import itertools
from typing import ClassVar

from ...blocks import blocks
from ...finding import Edit, Fix
from ...frames import called, receiver
from ...registry import Check, check, kind
from ...values import parameters_of
from .. import places
from ..places import found

kind(
    "gradients-never-zeroed",
    "Gradients pile up from step to step",
    """
backward() adds to .grad. Without a zero_grad() between steps each update uses the sum of all
gradients so far: the steps grow, overshoot and oscillate, and losses rise again. Call
optimizer.zero_grad() once per step, before backward or after step. Piling up is right only where
it is meant: several backward calls for one step, then cleared.
""",
)
kind(
    "gradients-zeroed-before-step",
    "Gradients are cleared between backward and step",
    """
zero_grad() after backward() and before step() throws away what backward computed: step finds no
gradients (or zeros) and changes nothing, or only decays weights. Clear gradients before backward or
after step.
""",
)
kind(
    "clip-at-wrong-place",
    "Gradients are clipped where there is nothing to clip",
    """
clip_grad_norm_ and clip_grad_value_ change the gradients that are there when they run. Before
backward() these are None or zero (or those of the step before), and after step() the update has
been made: large gradients pass unclipped. The order is backward, clip, step.
""",
)
kind(
    "clip-before-unscale",
    "Gradients are clipped while they are still multiplied by the loss scale",
    """
GradScaler multiplies the loss, and with it all gradients, by a large factor. Clipping them to norm
1 in that state and dividing by the scale afterwards, which scaler.step does, leaves updates of
almost nothing. Call scaler.unscale_(optimizer) before clipping; scaler.step then does not divide
again.
""",
)


class State:
    """What happened to one optimizer's gradients since its last step."""

    def __init__(self):
        self.zeroed = True  # nothing is stale before the first step
        self.backwards = 0
        self.zeroed_after = None  # the site of a clearing between backward and step
        self.piled, self.steps, self.lost = 0, 0, 0
        self.backward_site = self.step_site = self.lost_site = None
        self.norms = []
        self.dropped = []  # where gradients were cleared that no step had used, since the last one
        self.steps_now = False  # a closure may clear and compute gradients within the step
        self.partly, self.shares = 0, None  # steps behind such clearings, and the last of these
        self.zero_site = self.apart = None  # where gradients are cleared, though not at each step


kind(
    "step-before-backward",
    "The optimizer steps before backward has made its gradients",
    """
A turn of a training loop is zero_grad, forward, backward, step. Where the step stands before
backward, it finds the gradients that zero_grad has just cleared and changes nothing, and those that
backward makes after it are cleared at the start of the next turn: the weights stay as they are.
""",
)


@check
class Zeroing(Check):
    kinds = ("gradients-never-zeroed", "gradients-zeroed-before-step", "step-before-backward")
    needs: ClassVar = {
        "*": ("step", 3, "fewer than 3 optimizer steps"),
    }

    def start(self, doctor):
        self.states = {}
        watch = doctor.watch
        watch.on("backward", self.backward)
        watch.on("step", self.step)
        watch.on("stepped", self.stepped)
        watch.on("zero_grad", lambda optimizer: self.zero(optimizer, places.here()))
        watch.on("module_zero_grad", self.module_zero)
        watch.on("optimizer", self.state)

    def state(self, optimizer):
        found = self.states.get(id(optimizer))
        if found is None:
            found = self.states[id(optimizer)] = (optimizer, State())
        return found[1]

    def zero(self, optimizer, site):
        state = self.state(optimizer)
        state.zeroed, state.zero_site = True, site
        if state.backwards:
            state.zeroed_after = site
            if not state.steps_now:
                state.dropped.append(site)
        state.backwards = 0

    def module_zero(self, module):
        held = {id(p) for p in module.parameters()}
        for optimizer, _ in self.states.values():
            if any(id(p) in held for p in parameters_of(optimizer)):
                self.zero(optimizer, places.here())

    def backward(self, tensor, arguments):
        site = places.here()
        for optimizer, state in self.states.values():
            if not state.zeroed and not state.backwards:
                state.zeroed = _is_clear(optimizer)
            state.backward_site = site
            state.backwards += 1

    def step(self, optimizer):
        state = self.state(optimizer)
        state.steps += 1
        state.step_site = places.here()
        if state.zeroed_after is not None and not state.backwards and _is_clear(optimizer):
            state.lost += 1
            state.lost_site = state.zeroed_after
        elif state.backwards and not state.zeroed:
            state.piled += 1
            state.apart = state.zero_site or state.apart
            if state.piled in (1, 2, 4, 8, 16) or state.piled % 64 == 0:
                state.norms.append(_norm(optimizer))
        if state.backwards == 1 and len(state.dropped) > 1 and len(set(state.dropped)) == 1:
            state.partly += 1
            state.shares = (state.dropped[0], len(state.dropped) + 1)
        state.zeroed, state.backwards, state.zeroed_after = False, 0, None
        state.dropped, state.steps_now = [], True

    def stepped(self, optimizer):
        self.state(optimizer).steps_now = False

    def findings(self, doctor):
        out = []
        for _, state in self.states.values():
            often = state.piled >= state.steps - 1 or state.piled >= max(3, 0.5 * state.steps)
            if state.steps >= 3 and often and state.backward_site:
                out.append(self.never(state))
            elif state.lost >= 2 and state.lost >= 0.9 * state.steps:
                out.append(self.wrong_place(state))
            elif state.partly >= 2 and state.partly >= 0.9 * (state.steps - 1):
                out.append(self.each_backward(state))
        return out

    def each_backward(self, state):
        """Gradients that are to add up over several backward calls, cleared before each."""
        (site, count), step, fixes = state.shares, state.step_site, []
        if site.statement is not None and step.statement is not None:
            text = site.source.segment(site.statement)
            edits = [site.source.remove(site.statement)]
            if step.file == site.file and text.endswith(")") and step.code is site.code:
                edits.append(step.source.insert_after(step.statement, text))
                fixes.append(Fix(f"{text} after the step", edits))
        evidence = [
            (
                f"{count} backward calls before each step, {count - 1} of them cleared unused; "
                f"{state.partly} of {state.steps} steps"
            )
        ]
        return found(
            "gradients-zeroed-before-step", "wrong result", site,
            f"of {count} backward calls the step uses the last alone", evidence,
            [(state.backward_site, "the backward"), (step, "the step")], fixes,
        )  # fmt: skip

    def never(self, state):
        evidence = [
            f"{state.piled} of {state.steps} steps used gradients added to those of the step before"
        ]
        if len(state.norms) > 1:
            norms = f"gradient norm {state.norms[0]:.3g} at the first of them, "
            evidence.append(norms + f"at most {max(state.norms):.3g}")
        back, step, fixes = state.backward_site, state.step_site, []
        call = places.call_at(step) if step.node is not None else None
        name = _receiver(step, call, "step")
        misplaced = self.misplaced(state, name, evidence) if name else None
        if misplaced is not None:
            return misplaced
        if name:
            same = step.code is back.code and back.statement is not None
            if same and not isinstance(back.statement, (ast.If, ast.For, ast.While, ast.With)):
                edit = back.source.insert_before(back.statement, f"{name}.zero_grad()")
                fixes.append(Fix(f"{name}.zero_grad() before backward", [edit]))
            edit = step.source.insert_after(step.statement, f"{name}.zero_grad()")
            fixes.append(Fix(f"{name}.zero_grad() after the step", [edit]))
        return found(
            "gradients-never-zeroed",
            "wrong result",
            back,
            "each backward adds to the gradients of all steps before",
            evidence,
            [(step, "the step that uses the sum")],
            fixes,
        )

    def misplaced(self, state, name, evidence):
        """zero_grad that is named and not called, meant for another optimizer, or too far out."""
        back, source = state.backward_site, state.backward_site.source
        named = places.named_only(source, name, "zero_grad")
        if named is not None:
            edit = source.replace((named.value, f"{name}.zero_grad()"))
            at, fix = named, Fix(f"{name}.zero_grad(): it was named, not called", [edit])
        elif (twice := _cleared_twice(source, name)) is not None:
            other = ast.unparse(twice.value.func.value)
            edit = source.replace((twice.value.func.value, name))
            at, fix = twice, Fix(f"{name}.zero_grad(): {other} is cleared twice", [edit])
        else:
            zero = state.apart
            outside = zero is not None and zero.code is back.code and zero.statement is not None
            mine = source.loops_around(zero.statement) if outside else []
            inner = source.loops_around(back.statement) if outside and back.statement else []
            if not outside or len(inner) <= len(mine):
                return None
            edits = [source.remove(zero.statement)]
            text = source.segment(zero.statement)
            edits.append(source.insert_before(back.statement, text))
            at, fix = zero.statement, Fix(f"{text} before backward", edits)
        return found(
            "gradients-never-zeroed", "wrong result", (source.file, at.lineno),
            "gradients are not cleared at each step", evidence,
            [(back, "each backward adds to what is there"), (state.step_site, "the step")], [fix],
        )  # fmt: skip

    def step_first(self, state):
        """The step stands before the backward of its turn: what it would use is cleared by then."""
        step, back = state.step_site, state.backward_site
        a, b = step.statement, back.statement
        alike = step.code is back.code and a is not None and b is not None and a.parent is b.parent
        if not alike or not a.lineno < b.lineno or not isinstance(a, ast.Expr):
            return None
        edits = [step.source.remove(a), step.source.insert_after(b, step.source.segment(a))]
        return found(
            "step-before-backward",
            "wrong result",
            step,
            "the optimizer steps before the backward of its turn",
            [f"{state.lost} of {state.steps} steps found no gradient, or zeros"],
            [(back, "the backward, after it"), (state.lost_site, "cleared before the next step")],
            [Fix(f"{step.source.segment(a)} after backward", edits)],
        )

    def wrong_place(self, state):
        first = self.step_first(state)
        if first is not None:
            return first
        site, back, fixes = state.lost_site, state.backward_site, []
        if site.statement is not None and back.code is site.code and back.statement is not None:
            edit = places.moved_before(site.source, site.statement, back.statement)
            fixes.append(Fix("zero_grad before backward", [edit]))
        evidence = [f"{state.lost} of {state.steps} steps found no gradient, or zeros"]
        return found(
            "gradients-zeroed-before-step",
            "wrong result",
            site,
            "gradients are cleared after backward and before the step",
            evidence,
            [(back, "the backward whose result is lost"), (state.step_site, "the step")],
            fixes,
        )


def _cleared_twice(source, name: str) -> ast.Expr | None:
    """The second of two equal calls of zero_grad in a row, neither of them for ``name``."""
    for node in ast.walk(source.tree):
        for block in blocks(node):
            for a, b in itertools.pairwise(block):
                text = ast.unparse(a)
                same = text == ast.unparse(b) and text.endswith(".zero_grad()")
                if same and not text.startswith(f"{name}."):
                    return b
    return None


def _is_clear(optimizer) -> bool:
    """Whether all gradients of an optimizer are None or zero."""
    held = (p for p in parameters_of(optimizer) if p.requires_grad)
    grads = (p.grad for p in held if p.grad is not None)
    return not any(bool((g.detach() != 0).any()) for g in grads)


def _norm(optimizer) -> float:
    grads = [p.grad for p in parameters_of(optimizer) if p.grad is not None]
    return sum(float(g.detach().float().square().sum()) for g in grads) ** 0.5


def _receiver(site, call, method: str) -> str | None:
    """``opt`` of ``opt.step()``; of ``scaler.step(opt)`` its argument."""
    holder = receiver(call) if called(call) == method else None
    if holder is None:
        return None
    scales = call.args and "scaler" in ast.unparse(call.func).lower()
    return site.source.segment(call.args[0] if scales else holder)


@check
class Clipping(Check):
    kinds = ("clip-at-wrong-place", "clip-before-unscale")
    needs: ClassVar = {
        "clip-at-wrong-place": ("clip", 2, "gradients were not clipped"),
        "clip-before-unscale": ("scaled", 1, "no loss scale was used"),
    }

    def start(self, doctor):
        self.fresh = False  # a backward ran since the last step or clearing
        self.scaled = self.unscaled = False
        self.wrong, self.scaled_clips, self.clips, self.nothing = {}, {}, {}, {}
        self.backward_site = self.step_site = self.scaler_site = None
        self.backward_sites = set()
        watch = doctor.watch
        watch.on("backward", self.backward)
        watch.on("stepped", self.stepped)
        watch.on("step", self.before_step)
        watch.on("zero_grad", lambda o: self.clear())
        watch.on("module_zero_grad", lambda m: self.clear())
        watch.on("clip", self.clip)
        watch.on("scaled", self.scale)
        watch.on("unscale", lambda s, o: self.unscale())
        watch.on("scaler_step", self.scaler_step)

    def clear(self):
        self.fresh = False

    def backward(self, tensor, arguments):
        self.fresh = True
        self.backward_site = places.here()

    def before_step(self, optimizer):
        self.step_site = places.here()

    def stepped(self, optimizer):
        self.fresh = self.scaled = self.unscaled = False

    def scale(self, scaler):
        self.scaled = scaler.is_enabled() and scaler.get_scale() > 1
        self.scale_now = scaler.get_scale()

    def unscale(self):
        self.unscaled = True

    def scaler_step(self, scaler, optimizer):
        self.scaler_site = places.here()

    def clip(self, parameters):
        site = places.here()
        if site is None:
            return
        self.clips[site] = self.clips.get(site, 0) + 1
        if not parameters:
            self.nothing[site] = self.nothing.get(site, 0) + 1
            return
        if not self.fresh:
            self.wrong[site] = self.wrong.get(site, 0) + 1
        elif self.scaled and not self.unscaled:
            entry = self.scaled_clips.setdefault(site, [0, self.scale_now])
            entry[0] += 1

    def findings(self, doctor):
        out = []
        for site, count in self.wrong.items():
            if count == self.clips[site] and count > 1 and self.step_site:
                out.append(self.misplaced(site, count))
        for site, count in self.nothing.items():
            if count > 1 and count >= self.clips[site] - 1:
                out.append(self.of_nothing(site, count))
        for site, (count, scale) in self.scaled_clips.items():
            if count == self.clips[site] and self.scaler_site:
                out.append(self.not_unscaled(site, count, scale))
        return out

    def of_nothing(self, site, count):
        """A generator of parameters that was used up by its first reader."""
        call, at, fixes, source = places.call_at(site), site, [], site.source
        given = call.args[0] if call is not None and call.args else None
        if isinstance(given, ast.Name):
            scopes = (source.function_of(call), None)
            made = [source.last_assignment(given.id, site.line, s) for s in scopes]
            made = next((m.value for m in made if m is not None and hasattr(m, "value")), None)
            if isinstance(made, ast.Call):
                text = f"list({source.segment(made)})"
                at = (source.file, made.lineno)
                fixes = [source.fix(made, text)]
        evidence = [f"{count} of {self.clips[site]} calls got 0 parameters: nothing was clipped"]
        return found(
            "clip-at-wrong-place", "wrong number", at,
            "the parameters to clip were used up: a generator can be walked once", evidence,
            [(site, "clips nothing")] if at is not site else [], fixes,
        )  # fmt: skip

    def misplaced(self, site, count):
        back, fixes = self.backward_site, []
        if site.statement is not None and back is not None and back.code is site.code:
            edit = places.moved_after(site.source, site.statement, back.statement)
            fixes.append(Fix("clip after backward, before the step", [edit]))
        elif site.statement is not None and self.step_site.code is site.code:
            edit = places.moved_before(site.source, site.statement, self.step_site.statement)
            fixes.append(Fix("clip before the step", [edit]))
        evidence = [f"{count} of {count} times no backward had run since the last step"]
        return found(
            "clip-at-wrong-place",
            "wrong number",
            site,
            "gradients are clipped when there are none of this step",
            evidence,
            [(back, "the backward whose gradients pass unclipped"), (self.step_site, "the step")],
            fixes,
        )

    def not_unscaled(self, site, count, scale):
        step, fixes = self.scaler_site, []
        call = places.call_at(step)
        if call is not None and call.args and isinstance(call.func, ast.Attribute):
            scaler, optimizer = (step.source.segment(n) for n in (call.func.value, call.args[0]))
            line = f"{scaler}.unscale_({optimizer})"
            if step.code is site.code:
                edit = site.source.insert_before(site.statement, line)
            else:
                edit = _before_call_of(site, step, line)
            if edit is not None:
                fixes.append(Fix(f"{line} before it", [edit]))
        evidence = [f"{count} of {count} times the gradients were {scale:g} times too large"]
        return found(
            "clip-before-unscale",
            "wrong number",
            site,
            "gradients are clipped while still multiplied by the loss scale",
            evidence,
            [(step, "the step that divides them by the scale")],
            fixes,
        )


def _before_call_of(site, step, line) -> Edit | None:
    """The line before the statement that calls the function of ``site``, in the step's function."""
    name = site.code.co_name
    scope = step.source.function_of(step.node)
    for node in ast.walk(scope or step.source.tree):
        if called(node) == name:
            return step.source.insert_before(step.source.statement_of(node), line)
    return None
