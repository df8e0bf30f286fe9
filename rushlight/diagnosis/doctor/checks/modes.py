"""Train and eval: dropout or batch norm at work while a model is evaluated."""

from __future__ import annotations

import ast

from ...finding import Edit, Fix
from ...registry import Check, check, kind
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

SPECIAL = ("Dropout", "BatchNorm", "AlphaDropout", "FeatureAlphaDropout")


@check
class FunctionalDropout(Check):
    kinds = ("functional-dropout",)

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op)

    def op(self, op):
        if "dropout" not in op.name or len(op.args) < 2:
            return
        rate, training = op.argument(1, "p"), op.argument(2, "training", op.kwargs.get("train"))
        owner = op.frame.f_locals.get("self")
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
        if call is not None and not any(k.arg == "training" for k in call.keywords):
            if len(call.args) > 2:
                edit = site.source.replace((call.args[2], "self.training"))
            else:
                text = site.source.segment(call)[:-1].rstrip().rstrip(",")
                edit = site.source.replace((call, f"{text}, training=self.training)"))
            fixes.append(Fix("training=self.training", [edit]))
        elif call is not None:
            node = next(k.value for k in call.keywords if k.arg == "training")
            fixes.append(
                Fix("training=self.training", [site.source.replace((node, "self.training"))])
            )
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
        self.special = {}

    def mode(self, module, training):
        for frame in places.user_frames(3):
            self.modes[id(module), training] = (module, site_of(frame))
            break

    def specials(self, module):
        known = self.special.get(id(module))
        if known is None or known[0] is not module:
            names = [
                (n, m)
                for n, m in module.named_modules()
                if type(m).__name__.startswith(SPECIAL)
                and getattr(m, "p", 1)
                and getattr(m, "track_running_stats", True)
            ]
            known = self.special[id(module)] = (module, names)
        return known[1]

    def call(self, module, output, frame):
        import rushlight as torch

        specials = self.specials(module)
        if not specials:
            return
        active = [(n, m) for n, m in specials if m.training]
        grad = torch.is_grad_enabled()
        site = site_of(frame)
        if not grad and active:
            entry = self.evaluated.setdefault((site, id(module)), [0, module, active, self.steps])
            entry[0] += 1
        if grad:
            self.last_forward[id(module)] = (module, site, not active)

    def stepped(self, optimizer):
        self.steps += 1
        for key, (module, site, in_eval) in self.last_forward.items():
            counts = self.in_eval_steps if in_eval else self.in_train_steps
            if in_eval and not self.in_train_steps.get(key):
                continue
            entry = counts.setdefault(key, [0, module, site])
            entry[0] += 1
        self.last_forward.clear()

    def findings(self, doctor):
        out = []
        for (site, _key), entry in self.evaluated.items():
            count, module, active, _ = entry
            if self.steps and count >= 1:
                out.append(self.evaluating(site, count, module, active))
        for key, (count, module, site) in self.in_eval_steps.items():
            last = self.in_train_steps[key]
            if (id(module), False) in self.modes and count >= 2:
                out.append(self.not_restored(module, count, last[0], site))
        return out

    def evaluating(self, site, count, module, active):
        names = ", ".join(f"{n or type(m).__name__}" for n, m in active[:3])
        evidence = [f"{count} forward passes under no_grad with {names} in training mode"]
        fixes, node = [], places.call_at(site)
        name = ast.unparse(node.func) if node is not None else None
        if name is not None:
            text, at = f"{name}.eval()", self.extent(site, node)
            edit = _around(site.source, at, text, f"{name}.train()")
            fixes.append(Fix(f"{text} before it, train() after it", [edit]))
        return found(
            "dropout-while-evaluating",
            "wrong number",
            site,
            f"{type(module).__name__} is evaluated in training mode",
            evidence,
            [],
            fixes,
        )

    def extent(self, site, node):
        """The statement that is the evaluation: its with-block, else its loop, else the call's."""
        block = places.no_grad_around(site.source, node)
        loops = site.source.loops_around(node)
        if isinstance(block, ast.With):
            return block
        if isinstance(block, ast.expr) and loops:
            return loops[-1]
        return site.statement

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
            at = loops[0] if loops else site.statement
            if isinstance(at, (ast.For, ast.While)) and len(loops) < 2:
                at = site.statement
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


def _around(source, statement, before, after) -> Edit:
    lines = source.lines[statement.lineno - 1 : statement.end_lineno]
    text = [source.indented(statement, before), *lines, source.indented(statement, after)]
    return Edit(source.file, statement.lineno, statement.end_lineno, "\n".join(text))
