"""What a loop does again and again: seeding, optimizers, iterators of loaders, anomaly mode."""

from __future__ import annotations

import ast
import weakref
from typing import ClassVar

from ...finding import Edit, Fix
from ...frames import called
from ...registry import Check, check, kind
from ...unfolded import on_lines_of_their_own
from ...values import parameters_of
from .. import places
from ..loaders import Recent
from ..places import found
from .seeds import DRAWS

kind(
    "seed-in-loop",
    "The seed is set again at every step",
    """
manual_seed starts the random stream anew. In the training loop each step then draws the same
numbers: the same noise, the same dropout, the same augmentation. Seed once, before the loop.
""",
)
kind(
    "optimizer-made-in-loop",
    "A new optimizer is made at every step",
    """
An optimizer carries state from step to step: momentum, Adam's averages and its count of steps. Made
anew in the loop it forgets all of it, and a schedule's rate, too: Adam's first step has a size of
lr in each value, whatever the gradient. Make it once, before the loop.
""",
)
kind(
    "first-batch-only",
    "next(iter(loader)) gives the first batch again and again",
    """
iter(loader) begins anew: next(iter(loader)) in a loop reads the first batch each time, and the rest
of the data is never seen. Loop over the loader, or keep one iterator.
""",
)
kind(
    "anomaly-detection-left-on",
    "Anomaly detection is on for the whole run",
    """
torch.autograd.set_detect_anomaly(True) keeps a traceback for each op and looks for NaN in each
gradient: good for finding a NaN, and several times slower. Turn it off afterwards.
""",
)


# What a program draws for itself, not to begin a layer with.
OWN_DRAWS = [name for name in DRAWS if not name.endswith("_")]
LEAST_DRAWN = 5


def _before_loop(site, statement) -> Fix | None:
    """A statement that moves in front of the outermost loop around it that trains."""
    loops = site.source.loops_around(statement)
    if not loops or statement.parent not in loops:
        return None
    return Fix("once, before the loop", [_moved_out(site.source, statement, loops[-1])])


@on_lines_of_their_own
def _moved_out(source, statement, loop):
    """The edit that takes a statement out of a loop and puts it before."""
    by = len(source.indentation(loop)) - len(source.indentation(statement))
    text = source.reindented(statement.lineno, statement.end_lineno, by)
    kept = [
        line
        for number, line in enumerate(source.lines[loop.lineno - 1 : loop.end_lineno], loop.lineno)
        if not statement.lineno <= number <= statement.end_lineno
    ]
    return Edit(source.file, loop.lineno, loop.end_lineno, "\n".join([text, *kept]))


@check
class InLoop(Check):
    kinds = ("seed-in-loop", "optimizer-made-in-loop")

    def start(self, doctor):
        self.seeds, self.made, self.steps, self.draws = {}, {}, 0, 0
        self.optimizers = 0
        watch = doctor.watch
        watch.on("op", self.draw, OWN_DRAWS)
        watch.on("seeded", self.seeded)
        watch.on("optimizer", self.optimizer)
        watch.on("stepped", self.stepped, always=True)

    def stepped(self, optimizer):
        self.steps += 1

    def draw(self, op):
        self.draws += 1

    def seeded(self, seed):
        site = places.here()
        if site is not None:
            entry = self.seeds.setdefault((site, seed), [0, 0, -1, 0, self.draws, 0])
            entry[0] += 1
            if self.optimizers == entry[5]:  # else each turn trains anew: they are compared
                entry[1] += self.steps > entry[2] >= 0
                entry[3] += self.draws > entry[4]
            entry[2], entry[4], entry[5] = self.steps, self.draws, self.optimizers

    def optimizer(self, optimizer):
        self.optimizers += 1
        site = places.here()
        if site is None:
            return
        ids = tuple(id(p) for p in parameters_of(optimizer))
        entry = self.made.setdefault((site, ids), [0, 0, -1, type(optimizer).__name__, optimizer])
        entry[0] += 1
        entry[1] += self.steps > entry[2] >= 0
        entry[2], entry[4] = self.steps, optimizer

    def findings(self, doctor):
        out = []
        for (site, seed), (count, between, _, drawn, *_) in self.seeds.items():
            if site.statement is None:
                continue
            if between >= 4 and (self.in_loop(site) or between >= 0.5 * self.steps):
                out.append(self.seed(site, seed, count, f"{between} of them after a step"))
            elif drawn >= LEAST_DRAWN and not between:
                out.append(self.seed(site, seed, count, f"{drawn} of them after a draw"))
        for (site, _), (count, between, _, name, optimizer) in self.made.items():
            each = between >= 4 and count >= 0.5 * self.steps
            if each and site.statement is not None and self.in_loop(site) and optimizer.state:
                out.append(self.built(site, count, name))
        return out

    def in_loop(self, site) -> bool:
        return bool(site.source.loops_around(site.statement))

    def seed(self, site, seed, count, when):
        fix = _before_loop(site, site.statement)
        if fix is None and site.source.function_of(site.statement) is not None:
            fix = Fix("without it: seed once, at the start", [site.source.remove(site.statement)])
        evidence = [
            (f"seed {seed} was set {count} times, {when}: each turn draws the same random numbers")
        ]
        return found(
            "seed-in-loop", "wrong result", site, "the random stream starts anew at each turn",
            evidence, [], [fix] if fix is not None else [],
        )  # fmt: skip

    def built(self, site, count, name):
        fix = _before_loop(site, site.statement)
        evidence = [
            (
                f"{count} of {name} were made in {self.steps} steps: each began without the state "
                "of the one before"
            )
        ]
        return found(
            "optimizer-made-in-loop", "wrong result", site,
            f"{name} is made anew and forgets its averages", evidence, [],
            [fix] if fix is not None else [],
        )  # fmt: skip


@check
class FirstBatch(Check):
    kinds = ("first-batch-only",)

    def start(self, doctor):
        self.begun, self.given, self.steps = Recent(), weakref.WeakKeyDictionary(), 0
        watch = doctor.watch
        watch.on("loader", self.loader)
        watch.on("batch", self.batch, always=True)
        watch.on("stepped", self.stepped, always=True)

    def stepped(self, optimizer):
        self.steps += 1

    def loader(self, loader):
        site = places.here()
        if site is not None:
            key = (site.file, site.line, id(loader))
            entry = self.begun.entry(key, lambda: [0, 0, loader, -1, site])
            entry[0] += 1
            entry[1] += self.steps > entry[3] >= 0
            entry[3] = self.steps

    def batch(self, loader, batch):
        self.given[loader] = self.given.get(loader, 0) + 1

    def findings(self, doctor):
        from rushlight.utils.data import SequentialSampler

        out = []
        for count, between, loader, _, site in self.begun.values():
            same = isinstance(getattr(loader, "sampler", None), SequentialSampler)
            few = self.given.get(loader, 0) <= count
            often = between >= 3 or (count >= 5 and not self.steps and places.in_loop(site))
            if often and few and same and len(loader) > 1:
                out.append(self.finding(site, count, loader))
        return out

    def finding(self, site, count, loader):
        evidence = [
            (
                f"{count} iterations began and each gave 1 batch, the same one: {len(loader) - 1} "
                f"of {len(loader)} batches were never read"
            )
        ]
        fixes, node, source = [], places.call_at(site), site.source
        while node is not None and ast.unparse(getattr(node, "func", node)) != "iter":
            node = next(
                (n for n in ast.walk(node) if isinstance(n, ast.Call) and n is not node
                 and ast.unparse(n.func) == "iter"), None,
            )  # fmt: skip
        loops = source.loops_around(site.statement) if site.statement is not None else []
        if node is not None and loops and node.args:
            loop = loops[-1]
            head = f"import itertools\nbatches = itertools.cycle({source.segment(node.args[0])})"
            fixes.append(
                Fix("one iterator that goes on",
                    [source.insert_before(loop, head), source.replace((node, "batches"))])
            )  # fmt: skip
        return found(
            "first-batch-only", "wrong result", site, "only the first batch is ever read",
            evidence, [], fixes,
        )  # fmt: skip


@check
class Anomaly(Check):
    kinds = ("anomaly-detection-left-on",)

    def start(self, doctor):
        self.on, self.all, self.site = 0, 0, None
        doctor.watch.on("backward", self.backward)

    def backward(self, tensor, arguments):
        from rushlight import is_anomaly_enabled

        self.all += 1
        if is_anomaly_enabled():
            self.on += 1
            self.site = self.site or places.here()

    def findings(self, doctor):
        if self.on < 20 or self.on < self.all or self.site is None:
            return []
        source = self.site.source
        for node in ast.walk(source.tree) if source is not None else ():
            name = called(node)
            if name in ("set_detect_anomaly", "detect_anomaly") and node.args:
                edit = source.replace((node.args[0], "False"))
                evidence = [f"{self.on} of {self.all} backward calls ran with it"]
                return [
                    found(
                        "anomaly-detection-left-on", "time", (source.file, node.lineno),
                        "anomaly detection is on for the whole run", evidence, [],
                        [Fix(f"{name}(False)", [edit])],
                    )
                ]  # fmt: skip
        return []


kind(
    "iterator-exhausted",
    "A loop runs over an iterator that has no batches left",
    """
iter(loader) gives each batch once. A second loop over the same iterator has no turns: the epochs
after the first do nothing, without an error. Loop over the loader itself, which begins anew each
time (and shuffles anew).
""",
)


@check
class Exhausted(Check):
    kinds = ("iterator-exhausted",)
    needs: ClassVar = {"*": ("loader", 1, "no DataLoader was used")}

    def start(self, doctor):
        self.begun, self.seen = weakref.WeakKeyDictionary(), {}
        doctor.watch.on("loader", self.loader)
        doctor.watch.on("exhausted", self.exhausted)

    def loader(self, loader):
        self.begun[loader] = places.here()

    def exhausted(self, loader):
        used, made = places.here(), self.begun.get(loader)
        if used is not None and made is not None and used != made:
            entry = self.seen.setdefault(made, [0, used, len(loader)])
            entry[0] += 1

    def findings(self, doctor):
        return [self.finding(made, *one) for made, one in self.seen.items()]

    def finding(self, made, count, used, size):
        source, statement, fixes = made.source, made.statement, []
        call = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign) and called(call) == "iter" and call.args:
            name = ast.unparse(statement.targets[0])
            reads = [
                n
                for n in ast.walk(source.tree)
                if isinstance(n, (ast.Name, ast.Attribute))
                and isinstance(n.ctx, ast.Load)
                and ast.unparse(n) == name
            ]
            if all(isinstance(n.parent, ast.For) and n.parent.iter is n for n in reads):
                text = source.segment(call.args[0])
                fixes.append(source.fix(call, text, f"{text} itself"))
        evidence = [f"{count} loops began after its {size} batches were read, and had 0 turns"]
        return found(
            "iterator-exhausted", "wrong result", made, "the iterator gives its batches only once",
            evidence, [(used, "the loop that has no turns")], fixes,
        )  # fmt: skip
