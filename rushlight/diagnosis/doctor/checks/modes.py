"""Train and eval: dropout or batch norm at work while a model is evaluated."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import construction, trial
from ...finding import Edit, Fix
from ...registry import Check, check, kind
from ...unfolded import on_lines_of_their_own
from ...values import describe_module
from .. import places
from ..calls import site_of
from ..places import found

kind(
    "functional-dropout",
    "F.dropout drops although the module is in eval mode",
    """
F.dropout has training=True by default and knows nothing of model.eval(): it goes on dropping when
the model is evaluated, so outputs are random and worse than they need be. Pass
training=self.training, or use an nn.Dropout module, which follows train() and eval().
""",
)
kind(
    "dropout-while-evaluating",
    "A model is evaluated in training mode",
    """
In training mode dropout drops values at random and batch norm uses the statistics of the batch
(and updates its running averages with them). An evaluation in that mode gives numbers that vary
from run to run, and validation data leaks into the model. Call model.eval() before evaluating and
model.train() before training goes on; torch.no_grad() does neither.
""",
)
kind(
    "train-not-restored",
    "After an evaluation the model is trained in eval mode",
    """
eval() holds until train() is called. A model that is evaluated within the training loop and not
put back trains its later epochs without dropout and with frozen batch-norm statistics: it
overfits, or batch norm's averages no longer fit. Call model.train() at the start of each epoch,
or after each evaluation.
""",
)

DROPOUTS = [
    f"{kind}{end}"
    for kind in ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")
    for end in ("", "_")
]


@check
class FunctionalDropout(Check):
    kinds = ("functional-dropout",)
    needs: ClassVar = {
        "*": (
            "op dropout dropout_ alpha_dropout feature_dropout feature_alpha_dropout",
            1,
            "no dropout was seen",
        ),
    }

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, DROPOUTS)

    def op(self, op):
        if len(op.args) < 2:
            return
        rate, training = op.argument(1, "p"), op.argument(2, "training", op.kwargs.get("train"))
        owner = _C._locals(op.frame).get("self")
        if not training or not rate or op.module is not None or getattr(owner, "training", True):
            return
        if not hasattr(owner, "named_modules"):
            return
        entry = self.seen.setdefault(op.site, [0, rate, type(owner).__name__])
        entry[0] += 1

    def findings(self, doctor):
        return [self.finding(site, *e) for site, e in self.seen.items()]

    def finding(self, site, count, rate, name):
        fixes, call = [], places.call_at(site)
        if call is not None:
            given = construction.argument(call, 2, "training")
            if given is not None:
                edit = site.source.replace((given, "self.training"))
            else:
                text = site.source.segment(call)[:-1].rstrip().rstrip(",")
                edit = site.source.replace((call, f"{text}, training=self.training)"))
            fixes.append(Fix("training=self.training", [edit]))
        evidence = [f"dropped {rate:.0%} of the values {count} times while {name} was in eval mode"]
        return found(
            "functional-dropout",
            "wrong number",
            site,
            "this dropout does not follow model.eval()",
            evidence,
            [],
            fixes,
        )


@check
class Modes(Check):
    kinds = ("dropout-while-evaluating", "train-not-restored")

    def start(self, doctor):
        self.evaluated, self.trained, self.modes = {}, {}, {}
        self.last_forward = {}
        doctor.watch.on("call", self.call)
        doctor.watch.on("mode", self.mode)
        doctor.watch.on("stepped", self.stepped)
        self.steps = 0
        self.in_eval_steps = {}
        self.in_train_steps = {}
        self.looked_at = set()  # models that were evaluated in eval mode before the first step
        self.passes = doctor.passes

    def mode(self, module, training):
        for frame in places.user_frames(3):
            self.modes[id(module), training] = (module, site_of(frame))
            break

    def call(self, module, output, frame):
        import rushlight as torch

        specials = self.passes.specials(module)
        if not specials:
            return
        active = [(n, m) for n, m in specials if m.training]
        grad = torch.is_grad_enabled()
        site = site_of(frame)
        if not grad and active and not _is_teacher(module, active):
            entry = self.evaluated.setdefault((site, id(module)), [0, module, active, self.steps])
            entry[0] += 1
            entry[3] = self.passes.arguments
        if not grad and not active and not self.steps:
            self.looked_at.add(id(module))
        if grad:
            self.last_forward[id(module)] = (module, site, not active)

    def stepped(self, optimizer):
        self.steps += 1
        for key, (module, site, in_eval) in self.last_forward.items():
            counts = self.in_eval_steps if in_eval else self.in_train_steps
            if in_eval and not self.in_train_steps.get(key) and key not in self.looked_at:
                continue
            entry = counts.setdefault(key, [0, module, site])
            entry[0] += 1
        self.last_forward.clear()

    def findings(self, doctor):
        out = []
        for (site, _key), entry in self.evaluated.items():
            if self.steps:
                out.append(self.evaluating(site, *entry, "ran under no_grad"))
        for place in self.passes.places.values():
            if self.steps and place.is_evaluation and place.active:
                parts = (place.unused, place.module, place.active, place.arguments)
                out.append(self.evaluating(place.site, *parts, "led to no backward"))
        for key, (count, module, site) in self.in_eval_steps.items():
            if (id(module), False) in self.modes and count >= 2:
                before = self.in_train_steps.get(key, [0])[0]
                if before or self.never_switched(module, count):
                    out.append(self.not_restored(module, count, before, site))
        return out

    def not_checked(self, doctor):
        if not self.passes.evaluations:
            return [("dropout-while-evaluating", "no evaluation was seen")]
        return []

    def evaluating(self, site, count, module, active, arguments, what):
        names = ", ".join(
            f"{describe_module(m)} ({n})" if n else describe_module(m) for n, m in active[:2]
        )
        more = f" and {len(active) - 2} more" if len(active) > 2 else ""
        passes = "1 forward pass" if count == 1 else f"{count} forward passes"
        evidence = [f"{passes} {what}, with {names}{more}, in training mode"]
        measured = spread(module, arguments)
        if measured:
            evidence.append(measured)
        fixes, node, at = [], places.call_at(site), site
        name = ast.unparse(node.func) if node is not None else None
        written = places.named_only(site.source, name, "eval") if name else None
        if written is not None:
            at = (site.file, written.lineno)
            edit = site.source.replace((written.value, f"{site.source.segment(written.value)}()"))
            fixes.append(Fix(f"{ast.unparse(written)}(): it was named, not called", [edit]))
        elif name is not None:
            _text, extent = f"{name}.eval()", self.extent(site, node)
            fixes.append(self.switched(site.source, extent, name, module))
        return found(
            "dropout-while-evaluating",
            "wrong number",
            at,
            f"{type(module).__name__} is evaluated in training mode",
            evidence,
            [(site, "the passes")] if at is not site else [],
            fixes,
        )

    def switched(self, source, extent, name, module):
        """eval() before an evaluation and train() after it; where it returns, before training."""
        text = f"{name}.eval()"
        if not any(isinstance(n, (ast.Return, ast.Yield)) for n in ast.walk(extent)):
            edit = _around(source, extent, text, f"{name}.train()")
            return Fix(f"{text} before it, train() after it", [edit])
        edits = [source.insert_before(extent, text)]
        for place in self.passes.places.values():
            call = places.call_at(place.site) if place.used and place.module is module else None
            statement = place.site.statement if call is not None else None
            lines = range(extent.lineno, extent.end_lineno + 1)
            if statement is not None and statement.lineno not in lines:
                back = f"{ast.unparse(call.func)}.train()"
                edits.append(place.site.source.insert_before(statement, back))
                return Fix(f"{text} before it, {back} before training", edits)
        return Fix(f"{text} before it", edits)

    def extent(self, site, node):
        """The statement that is the evaluation: its with-block, else its loop, else the call's."""
        block = places.no_grad_around(site.source, node)
        loops = site.source.loops_around(node)
        if block is None:
            idle = [loop for loop in loops if not _trains(loop)]
            return idle[-1] if idle else site.statement
        if isinstance(block, ast.With):
            return block
        if isinstance(block, ast.expr) and loops:
            return loops[-1]
        return site.statement

    def never_switched(self, module, count) -> bool:
        """Whether all steps follow one eval(), and dropout rests: norms alone may be meant to."""
        drops = any("Dropout" in type(m).__name__ for _, m in self.passes.specials(module))
        return drops and count >= 8 and (id(module), True) not in self.modes

    def not_restored(self, module, count, before, site):
        _, where = self.modes[id(module), False]
        train = self.modes.get((id(module), True))
        evidence = [
            (
                f"{count} steps with all of its dropout and batch norm in eval mode, {before} "
                "before them in training mode"
            )
        ]
        related = [(site, "the forward pass of those steps")]
        if train is not None:
            related.append((train[1], "train() was called here, before"))
        fixes = []
        call = places.call_at(site)
        if call is not None and site.statement is not None:
            loops = site.source.loops_around(call)
            at = loops[:2][-1].body[0] if loops else site.statement  # of the loop of epochs
            edit = site.source.insert_before(at, f"{ast.unparse(call.func)}.train()")
            fixes.append(Fix("train() before training goes on", [edit]))
        return found(
            "train-not-restored",
            "wrong number",
            where,
            f"{type(module).__name__} stays in eval mode while it is trained",
            evidence,
            related,
            fixes,
        )


def _is_teacher(module, active) -> bool:
    """Batch norm alone in a model that learns nothing itself: a target network."""
    norms = all("Norm" in type(m).__name__ for _, m in active)
    return norms and not any(p.requires_grad for p in module.parameters())


def spread(module, arguments) -> str:
    """How much the outputs for one batch differ in training mode, measured on a copy."""
    import copy

    import rushlight as torch

    tensors = [a for a in arguments or () if isinstance(a, torch.Tensor)]
    if not tensors or len(tensors) != len(arguments) or sum(t.nbytes for t in tensors) > 16 << 20:
        return ""

    @torch.no_grad()
    def off() -> str:
        twin = copy.deepcopy(module)
        runs = [twin(*arguments) for _ in range(5)]
        twin.eval()
        wanted = twin(*arguments)
        if not isinstance(wanted, torch.Tensor) or not wanted.is_floating_point():
            return ""
        size = float(wanted.abs().mean())
        mean = [float((r - wanted).abs().mean()) for r in runs]
        return (
            f"the last batch 5 times on a copy: outputs are off by {min(mean):.3g} to "
            f"{max(mean):.3g} on average from those in eval mode, whose mean size is {size:.3g}"
        )

    return trial.apart(off, 1.0) or ""


def _trains(loop) -> bool:
    """Whether a loop holds a training step."""
    names = {n.attr for n in ast.walk(loop) if isinstance(n, ast.Attribute)}
    return bool(names & {"backward", "step", "zero_grad"})


@on_lines_of_their_own
def _around(source, statement, before, after) -> Edit:
    lines = source.lines[statement.lineno - 1 : statement.end_lineno]
    text = [source.indented(statement, before), *lines, source.indented(statement, after)]
    return Edit(source.file, statement.lineno, statement.end_lineno, "\n".join(text))
