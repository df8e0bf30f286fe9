"""Learning-rate schedules: stepped too often, too early, or never."""

from __future__ import annotations

import ast
import sys
from typing import ClassVar

from rushlight.optim import lr_scheduler

from ...finding import Edit, Fix
from ...registry import Check, check, kind
from .. import places
from ..calls import is_user
from ..places import found

kind(
    "scheduler-per-batch",
    "A schedule that counts epochs is stepped at every batch",
    """
StepLR, MultiStepLR, ExponentialLR, ReduceLROnPlateau and most others count calls of step(). Their
numbers are usually meant in epochs; called in the batch loop, the schedule is through after a few
batches and the learning rate is practically zero (or starts to rise again). Call scheduler.step()
once per epoch, after the batch loop. Only schedules made for it (OneCycleLR, CyclicLR, a LambdaLR
over steps) belong in the batch loop.
""",
)
kind(
    "scheduler-before-optimizer",
    "The scheduler is stepped before the optimizer",
    """
scheduler.step() sets the rate for what comes next. Called before optimizer.step(), the first value
of the schedule is skipped and all others come one step too early. The order is optimizer.step(),
then scheduler.step().
""",
)
kind(
    "scheduler-never-stepped",
    "A scheduler was made and never stepped",
    """
A scheduler changes the learning rate only when its step() is called, usually once per epoch after
the training loop. Without it the rate stays as the optimizer was given it (a warm-up schedule even
stays at its tiny first value).
""",
)

BY_EPOCH = (
    "StepLR",
    "MultiStepLR",
    "ExponentialLR",
    "CosineAnnealingLR",
    "ReduceLROnPlateau",
    "PolynomialLR",
    "LinearLR",
    "ConstantLR",
)


kind(
    "scheduler-of-other-optimizer",
    "A schedule belongs to an optimizer that never steps",
    """
A scheduler changes the rate of the optimizer that it was given. Where that is replaced afterwards
(another one for fine-tuning, one made anew), the schedule goes on with the old one and the new one
keeps its rate. Make the schedule after the optimizer that steps.
""",
)


kind(
    "scheduler-given-number",
    "A schedule was given a number that it takes for the epoch",
    """
step() of StepLR, CosineAnnealingLR and their like counts by itself; an argument is an epoch's
number (and deprecated). A loss given there puts the schedule at epoch 0.53, where it stays. Only
ReduceLROnPlateau.step(loss) wants a measure.
""",
)


@check
class Schedules(Check):
    kinds = (
        "scheduler-per-batch",
        "scheduler-before-optimizer",
        "scheduler-never-stepped",
        "scheduler-of-other-optimizer",
    )
    needs: ClassVar = {
        "*": ("scheduler", 1, "no scheduler was made"),
    }

    def start(self, doctor):
        self.made, self.order, self.steps = {}, 0, {}
        watch = doctor.watch
        watch.on("scheduler", self.scheduler)
        watch.on("scheduler_step", self.step)
        watch.on("stepped", self.stepped, always=True)
        self.optimizers = []
        watch.on("optimizer", lambda o: self.optimizers.append((o, places.here())))

    def scheduler(self, scheduler):
        if id(scheduler) not in self.made:
            self.entry(scheduler)

    def entry(self, scheduler):
        optimizer = getattr(scheduler, "optimizer", None)
        if optimizer is None:
            return None
        first = [g.get("initial_lr", g["lr"]) for g in optimizer.param_groups]
        return self.made.setdefault(
            id(scheduler),
            {
                "scheduler": scheduler,
                "site": places.here(),
                "steps": 0,
                "first": first[0],
                "at": {},
                "early": 0,
                "low": first[0],
                "low_at": 0,
                "begun": self.steps.get(id(optimizer), 0),
            },
        )

    def step(self, scheduler):
        frame = sys._getframe(2)
        while frame is not None and not is_user(frame.f_code):
            if frame.f_code.co_name in ("__init__", "_initial_step"):
                return  # the first value, set when it is made
            frame = frame.f_back
        new = id(scheduler) not in self.made  # SequentialLR and its like do not tell their making
        entry = self.entry(scheduler)
        if entry is None:
            return
        optimizer = scheduler.optimizer
        if not new and entry["steps"] == 0 and self.steps.get(id(optimizer), 0) == entry["begun"]:
            entry["early"] += 1
        entry["steps"] += 1
        site = places.here()
        entry["at"][site] = entry["at"].get(site, 0) + 1
        rate = optimizer.param_groups[0]["lr"]
        if rate < entry["low"]:
            entry["low"], entry["low_at"] = rate, entry["steps"]

    def stepped(self, optimizer):
        self.steps[id(optimizer)] = self.steps.get(id(optimizer), 0) + 1

    def findings(self, doctor):
        out = []
        for e in self.made.values():
            scheduler, optimizer = e["scheduler"], e["scheduler"].optimizer
            steps = self.steps.get(id(optimizer), 0) - e["begun"]
            if e["steps"] >= 2 and not steps and not e["begun"]:
                out += self.of_another(e)
            elif not e["steps"] and steps >= 4 and self.is_watched(scheduler):
                out.append(self.never(e, steps))
            elif e["early"] and steps >= 2:
                out.append(self.early(e, steps))
            elif e["steps"] >= 0.9 * steps and steps >= 4:
                finding = self.per_batch(e, steps)
                out += [finding] if finding else []
        return out

    def of_another(self, e):
        """The schedule of an optimizer that never steps, while another one does."""
        others = [k for k, n in self.steps.items() if n >= 2 and k != id(e["scheduler"].optimizer)]
        site = e["site"]
        if not others or site is None or any(id(x["scheduler"].optimizer) in others
                                             for x in self.made.values()):  # fmt: skip
            return []
        optimizer = next((o for o in self.optimizers if id(o[0]) == others[0]), None)
        steps, name = self.steps[others[0]], type(e["scheduler"]).__name__
        evidence = [
            (
                f"{e['steps']} steps of the schedule changed the rate of an optimizer that made 0 "
                f"steps; the one that made {steps} keeps its rate"
            )
        ]
        fixes, related = [], []
        if optimizer is not None and optimizer[1] is not None:
            later = optimizer[1]
            related = [(later, "the optimizer that steps is made here")]
            same = later.code is site.code and later.statement is not None
            if same and site.statement is not None and later.line > site.line:
                edit = places.moved_after(site.source, site.statement, later.statement)
                fixes = [Fix("the schedule after it", [edit])]
        return [
            found(
                "scheduler-of-other-optimizer", "wrong result", site,
                f"{name} schedules an optimizer that never steps", evidence, related, fixes,
            )
        ]  # fmt: skip

    def is_watched(self, scheduler):
        """Whether each of its steps was seen: not of a class with a step of its own, nor a part."""
        own = not type(scheduler).step.__module__.startswith("rushlight.")
        return not own and not self.is_part(scheduler)

    def is_part(self, scheduler):
        """Whether a schedule belongs to another one (SequentialLR and its like)."""
        return any(
            scheduler in getattr(e["scheduler"], "_schedulers", ()) for e in self.made.values()
        )

    def per_batch(self, e, steps):
        scheduler = e["scheduler"]
        name = type(scheduler).__name__
        site = max(e["at"], key=e["at"].get)
        if name not in BY_EPOCH or site.node is None:
            return None
        rate = scheduler.optimizer.param_groups[0]["lr"]
        low = min(rate, e["low"])
        cosine = name == "CosineAnnealingLR" and e["steps"] > 1.5 * scheduler.T_max
        linear = name in ("LinearLR", "ConstantLR", "PolynomialLR")
        planned = linear or name == "CosineAnnealingLR" or low > 1e-3 * e["first"]
        if not cosine and planned:
            return None
        where = self.loops(site)
        if where is None:
            return None
        source, statement, batches, _ = where
        evidence = [
            (
                f"{e['steps']} calls in {steps} optimizer steps took the rate from {e['first']:g} "
                f"to {low:.3g}"
            )
        ]
        fixes = []
        if batches is not None:
            edit = places.moved_after(source, statement, batches)
            fixes.append(Fix("step it after the batch loop", [edit]))
        return found(
            "scheduler-per-batch",
            "wrong number",
            site,
            f"{name} is stepped at each batch",
            evidence,
            [(e["site"], "its numbers are set here")],
            fixes,
        )

    def loops(self, site):
        """(source, statement, the batch loop, the epoch loop), or None where there is no second."""
        source, statement = site.source, site.statement
        loops = source.loops_around(statement)
        if len(loops) >= 2:
            batches = loops[0]
            if len(batches.body) == 1:
                return source, statement, None, loops[1]
            return source, statement, batches, loops[1]
        function = source.function_of(statement)
        if loops and function is not None:
            alone = statement in loops[0].body and len(loops[0].body) > 1
            return source, statement, loops[0] if alone else None, None
        if function is not None:
            return source, statement, None, None
        return None

    def early(self, e, steps):
        site = next(iter(e["at"]))
        source, fixes = site.source, []
        if site.statement is not None:
            block = getattr(site.statement.parent, "body", [])
            for statement in block:
                text = ast.unparse(statement)
                if ".step(" in text and statement.lineno > site.line and "\n" not in text:
                    edit = places.moved_after(source, site.statement, statement)
                    fixes.append(Fix("after the optimizer's step", [edit]))
                    break
            else:
                loop = next(
                    (s for s in block if isinstance(s, ast.For) and s.lineno > site.line), None
                )
                if loop is not None:
                    edit = places.moved_after(source, site.statement, loop)
                    fixes.append(Fix("after the loop of this epoch", [edit]))
        return found(
            "scheduler-before-optimizer",
            "wrong number",
            site,
            "the scheduler is stepped before the optimizer",
            [
                (
                    f"its first step came before the first of {steps} optimizer steps: the rate "
                    f"{e['first']:g} was never used as planned"
                )
            ],
            [(e["site"], "the scheduler")],
            fixes,
        )

    def never(self, e, steps):
        site, fixes = e["site"], []
        statement = site.statement if site else None
        if isinstance(statement, ast.Assign):
            name = site.source.segment(statement.targets[0])
            loop = self.training_loop(site, statement)
            if loop is not None:
                last = loop.body[-1]
                edit = Edit(
                    site.file,
                    last.lineno,
                    last.end_lineno,
                    "\n".join(
                        [
                            *site.source.lines[last.lineno - 1 : last.end_lineno],
                            site.source.indented(loop.body[0], f"{name}.step()"),
                        ]
                    ),
                )
                fixes.append(Fix(f"{name}.step() at the end of each epoch", [edit]))
        return found(
            "scheduler-never-stepped",
            "wrong number",
            site,
            f"{type(e['scheduler']).__name__} is never stepped",
            [
                (
                    f"0 calls of step() in {steps} optimizer steps; the rate stayed "
                    f"{e['scheduler'].optimizer.param_groups[0]['lr']:g}"
                )
            ],
            [],
            fixes,
        )

    def training_loop(self, site, statement):
        block = getattr(statement.parent, "body", [])
        for other in block:
            if isinstance(other, (ast.For, ast.While)) and other.lineno > statement.lineno:
                text = ast.unparse(other)
                if ".step()" in text or ".backward()" in text:
                    return other
        return None


@check
class GivenNumber(Check):
    kinds = ("scheduler-given-number",)
    needs: ClassVar = {"*": ("scheduler_step", 2, "no scheduler was stepped")}

    def start(self, doctor):
        self.at = {}
        doctor.watch.on("scheduler_step", self.step)

    def step(self, scheduler):
        if not isinstance(scheduler, lr_scheduler.CosineAnnealingWarmRestarts):
            self.at[id(scheduler)] = (scheduler, places.here())

    def findings(self, doctor):
        out = [self.finding(*one) for one in self.at.values() if _is_between(one[0])]
        return [f for f in out if f is not None]

    def finding(self, scheduler, site):
        call = places.call_at(site) if site is not None else None
        if call is None or not call.args:
            return None
        text = f"{site.source.segment(call.func)}()"
        return found(
            "scheduler-given-number", "wrong number", site,
            f"{type(scheduler).__name__} takes {site.source.segment(call.args[0])} for an epoch",
            [f"it stands at epoch {scheduler.last_epoch:.4g}"], [],
            [site.source.fix(call, text)],
        )  # fmt: skip


def _is_between(scheduler) -> bool:
    """Whether a schedule stands at no whole epoch."""
    epoch = getattr(scheduler, "last_epoch", 0)
    return isinstance(epoch, float) and epoch != int(epoch)
