"""Noise that is scaled by a variance where a deviation is meant."""

from __future__ import annotations

import ast
import re
import weakref
from typing import ClassVar

from rushlight import _C

from ... import changes
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "noise-scaled-by-variance",
    "A sample's noise is multiplied by exp(logvar), the variance",
    """
mean + std * noise has the deviation std. Where a network gives the logarithm of the variance, as
the usual term of a VAE's loss takes it, 1 + logvar - mean ** 2 - exp(logvar), the deviation is
exp(0.5 * logvar). With exp(logvar) samples are drawn from another distribution than the one that
the loss measures.
""",
)

NOISE = ("randn_like", "randn", "normal", "normal_")
LOG_VARIANCE = re.compile(r"(?i)log_?var|log_?v$|(^|[._])lv$|log_?sigma_?(2|sq)|log_?std_?(2|sq)")
LEAST_TIMES = 3
LOOKS = 8


class _Scaling:
    """Noise that was multiplied by exponentials of one place."""

    def __init__(self, site, is_named):
        self.site, self.times, self.is_variance = site, 0, is_named
        self.factor = self.deviation = 0.0
        self.product = None


@check
class Noise(Check):
    kinds = ("noise-scaled-by-variance",)
    needs: ClassVar = {"*": (f"op {' '.join(NOISE)}", 1, "no noise was drawn")}

    def start(self, doctor):
        self.exponents, self.seen, self.last = {}, {}, None
        self.spread = []  # (a scale that a distribution was given, how it was made), the last ones
        watch = doctor.watch
        watch.on("op", lambda op: None, NOISE)
        watch.on("op", self.exponential, ("exp",))
        watch.on("op", self.broadcast, ("broadcast_tensors",))
        watch.on("op", self.product, ("mul",))
        watch.on("op", self.sum, ("add",))

    def exponential(self, op):
        given = op.args[0]
        if given.requires_grad:
            made = op.calls.made(given)
            half = made is not None and made.root.name in ("mul", "div", "true_divide")
            self.exponents[op.site] = None if half else weakref.ref(given)

    def broadcast(self, op):
        """A distribution brings its parameters to one shape."""
        if not self.exponents:
            return
        for given, result in zip(_tensors(op.args), op.result, strict=False):
            made = op.calls.made(given)
            if made is not None and made.root.name == "exp":
                self.spread = [*self.spread[-3:], (weakref.ref(result), made)]

    def made(self, op, tensor):
        known = (made for spread, made in self.spread if spread() is tensor)
        is_tensor = isinstance(tensor, _C.TensorBase)
        return next(known, None) or (op.calls.made(tensor) if is_tensor else None)

    def product(self, op):
        if not self.exponents or len(op.args) < 2:
            return
        made = [self.made(op, a) for a in op.args[:2]]
        names = [m.root.name if m is not None else "" for m in made]
        for one, two in ((0, 1), (1, 0)):
            if names[one] in NOISE and names[two] == "exp":
                self.scaled(op, made[two].root.site, op.args[two])

    def scaled(self, op, site, factor):
        given = self.exponents.get(site)
        given = given() if given is not None else None
        if given is None:
            return
        entry = self.seen.get(site)
        if entry is None:
            node = places.operand(site, 0)
            is_named = node is not None and bool(LOG_VARIANCE.search(ast.unparse(node)))
            entry = self.seen[site] = _Scaling(site, is_named)
        entry.times += 1
        entry.product = op.site
        self.last = (weakref.ref(given), entry) if not entry.is_variance else None
        if entry.times <= LOOKS:
            factor = factor.detach()
            entry.factor += float(factor.mean())
            entry.deviation += float(factor.sqrt().mean())

    def sum(self, op):
        """``1 + logvar``, as the divergence from a normal distribution has it."""
        if self.last is None or len(op.args) < 2:
            return
        for one, two in ((0, 1), (1, 0)):
            if op.args[one] is self.last[0]() and isinstance(op.args[two], (int, float)):
                self.last[1].is_variance |= op.args[two] == 1

    def findings(self, doctor):
        return [
            self.finding(one)
            for one in self.seen.values()
            if one.is_variance and one.times >= LEAST_TIMES
        ]

    def finding(self, one):
        looks, node, source = min(one.times, LOOKS), places.operand(one.site, 0), one.site.source
        evidence = [
            (
                f"the noise was multiplied by {one.factor / looks:.3g} on average, where the "
                f"deviation is {one.deviation / looks:.3g} (its root; {one.times} times)"
            )
        ]
        fixes = []
        if node is not None:
            text = f"0.5 * {changes.atom(source, node)}"
            text = f"({text})" if places.is_method(one.site) else text
            whole = changes.with_part(source, one.site.node, node, text)
            fixes.append(source.fix(node, text, whole))
        return found(
            "noise-scaled-by-variance", "wrong result", one.site,
            "noise is scaled by a variance, not by its root", evidence,
            [(one.product, "the noise is multiplied")], fixes,
        )  # fmt: skip


def _tensors(args) -> tuple:
    """What a function of several tensors got: one by one, or as a list."""
    return args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
