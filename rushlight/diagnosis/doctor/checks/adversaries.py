"""Two models that work against each other: which way each pushes the other's scores."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from ...values import parameters_of
from ..calls import site_of
from ..causal import is_one
from ..passes import LOSSES
from ..places import found

kind(
    "generator-helps-discriminator",
    "The generator learns what the discriminator wants, not the opposite",
    """
A discriminator lowers its score of generated samples; the generator has to raise it. Where the
generator's loss compares D(G(z)) with the label of fakes, or lacks its minus sign, both push the
score the same way: the generator learns to be found out, and both losses look fine. Compare with
the label of real samples: criterion(D(fake), real_label), or -D(fake).mean() for a critic.
""",
)

LEAST = 3  # steps of each
ONE_WAY = 0.9  # of the gradient's size, where nearly all elements have one sign
MOST_PASSES = 200  # of which gradients are looked at
MOST_MODELS = 8


class _Pass:
    """A call of a model that judges; ``generator`` made what it was given, or is None.

    ``is_cut``: no gradient goes on to the generator. ``sign`` is the way in which the loss wants
    the score to go, 0 where it is not one; ``loss`` the ``_Loss`` that it went into.
    """

    def __init__(self, judge, generator, is_cut, site, made):
        self.judge, self.generator, self.is_cut = judge, generator, is_cut
        self.site, self.made, self.sign, self.loss = site, made, 0, None

    @property
    def place(self):
        return self.loss.site if self.loss is not None else self.site

    def __call__(self, gradient):
        total, size = float(gradient.sum()), float(gradient.abs().sum())
        self.sign = 0 if abs(total) < ONE_WAY * size or not size else -1 if total > 0 else 1


class _Loss:
    """Where a score went into a loss; the shape of the target, and its value where it is one."""

    def __init__(self, op):
        self.site, self.shape, self.value = op.site, None, None
        target = op.args[1] if op.name in LOSSES and len(op.args) > 1 else None
        if isinstance(target, _C.TensorBase) and target.numel():
            self.shape = target.shape
            low, high = target.detach().aminmax()
            self.value = float(low) if bool(low == high) else None


class _Role:
    """The passes that one side's steps learnt from: how often each way, and the last of them."""

    def __init__(self):
        self.count, self.up, self.down, self.last = 0, 0, 0, None

    def add(self, one):
        self.count, self.last = self.count + 1, one
        self.up += one.sign > 0
        self.down += one.sign < 0

    @property
    def way(self) -> int:
        """1 or -1 where all went one way, else 0."""
        if self.count < LEAST or self.count not in (self.up, self.down):
            return 0
        return 1 if self.up else -1


@check
class Adversaries(Check):
    kinds = ("generator-helps-discriminator",)
    needs: ClassVar = {"*": ("step", LEAST, "fewer than 3 optimizer steps")}

    def start(self, doctor):
        self.passes, self.watch = doctor.passes, doctor.watch
        self.results, self.judges, self.held, self.pending, self.seen = {}, {}, {}, [], {}
        doctor.watch.on("call", self.call)
        doctor.watch.on("step", self.step)
        doctor.watch.on("op", self.op, LOSSES | {"mean", "sum"})

    def call(self, module, output, frame):
        if not isinstance(output, _C.TensorBase) or self.watch.calls is None:
            return
        given = next((a for a in self.passes.arguments if isinstance(a, _C.TensorBase)), None)
        maker = self.maker(given, module) if len(self.results) > 1 else None
        if maker is not None:
            self.judges.setdefault(id(module), 0)
        if output.requires_grad and self.judges.get(id(module), MOST_PASSES) < MOST_PASSES:
            self.judges[id(module)] += 1
            made = self.watch.calls.made(output)
            is_cut = not given.requires_grad
            one = _Pass(module, maker, is_cut, site_of(frame), made and made.root)
            output.register_hook(one)
            self.pending.append(one)
        if id(module) in self.results or len(self.results) < MOST_MODELS:
            self.results[id(module)] = (module, output.detach())

    def maker(self, given, module):
        """The model whose last result a tensor is."""
        for other, result in self.results.values() if given is not None else ():
            if other is not module and is_one(given, result):
                return other
        return None

    def op(self, op):
        made = op.source if self.pending else None
        if made is None:
            return
        for one in self.pending:
            if one.loss is None and one.made is made.root:
                one.loss = _Loss(op)

    def step(self, optimizer):
        held = self.held.get(id(optimizer))
        if held is None:
            held = self.held[id(optimizer)] = {id(p) for p in parameters_of(optimizer)}
        generated = [p for p in self.pending if p.generator is not None]
        both = len({p.is_cut for p in generated}) == 2  # those that are not cut are the generator's
        left = []
        for one in self.pending:
            judges, makes = (_holds(held, m) for m in (one.judge, one.generator))
            flows = one.generator is not None and not one.is_cut
            if judges and not makes and flows and both:
                left.append(one)
            elif judges and not makes:
                self.role(one, "real" if one.generator is None else "fake").add(one)
            elif makes and not judges and flows:
                self.role(one, "generator").add(one)
        self.pending = left

    def role(self, one, name) -> _Role:
        roles = self.seen.setdefault(id(one.judge), {})
        return roles.setdefault(name, _Role())

    def findings(self, doctor):
        out = []
        for roles in self.seen.values():
            if len(roles) == 3:
                ways = [roles[n].way for n in ("real", "fake", "generator")]
                if ways in ([1, -1, -1], [-1, 1, 1]):
                    out.append(self.finding(roles))
        return out

    def finding(self, roles):
        real, fake, generator = (roles[n] for n in ("real", "fake", "generator"))
        loss, site = generator.last.loss, generator.last.place
        way = "down" if generator.way < 0 else "up"
        evidence = [
            (
                f"its loss pushes the score of generated samples {way} in {generator.count} of "
                f"{generator.count} steps, as the discriminator's does in {fake.count} of "
                f"{fake.count}; that of real ones goes the other way"
            )
        ]
        if loss is not None and loss.value is not None:
            evidence.append(f"it compares the scores with {loss.value:g}")
        related = [(fake.last.place, "the discriminator's term of generated samples"),
                   (real.last.place, "its term of real ones")]  # fmt: skip
        return found(
            "generator-helps-discriminator", "wrong result", site,
            "the generator learns to be found out", evidence, related,
            _fixes(loss, real.last.loss) if loss is not None else [],
        )  # fmt: skip


def _holds(held: set, module) -> bool:
    return module is not None and any(id(p) in held for p in module.parameters())


SAID = {"zeros": "ones", "ones": "zeros", "zeros_like": "ones_like", "ones_like": "zeros_like"}


def _fixes(loss, real) -> list[Fix]:
    """The target of the real samples instead; without one, a minus sign."""
    source, node = loss.site.source, loss.site.node
    if loss.shape is None:
        return [source.fix(node, f"-{source.segment(node)}")] if called(node) == "mean" else []
    given, other = _target(node), _target(real.site.node) if real is not None else None
    if given is None or other is None:
        return []
    if called(given) in SAID and called(other) == SAID[called(given)]:
        func = source.segment(given.func).removesuffix(called(given)) + called(other)
        return [source.fix(given.func, func, changes.with_part(source, given, given.func, func))]
    text = real.site.source.segment(other)
    is_other = real.shape == loss.shape and text != source.segment(given)
    if is_other and isinstance(other, (ast.Name, ast.Attribute)) and real.site.file == source.file:
        return [source.fix(given, text)]
    if not is_other and isinstance(given, ast.Name) and real.value is not None:  # filled anew
        line = f"{text}.fill_({real.value!r})"
        return [Fix(line, [source.insert_before(loss.site.statement, line)])]
    return [Fix("compare with the label of real samples")]


def _target(node) -> ast.expr | None:
    """The second argument of a loss's call."""
    if not isinstance(node, ast.Call):
        return None
    named = [k.value for k in node.keywords if k.arg == "target"]
    return node.args[1] if len(node.args) > 1 else named[0] if named else None
