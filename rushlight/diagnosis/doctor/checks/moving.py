"""Moving averages of weights that follow the newest value instead of the average."""

from __future__ import annotations

import ast
import re
import weakref
from typing import ClassVar

from rushlight import _C

from ... import changes, decided
from ...finding import Fix
from ...frames import Failed, called
from ...registry import Check, check, kind
from ...values import address_of
from .. import places
from ..places import found

kind(
    "average-follows-newest",
    "A moving average of the weights keeps the newest ones and forgets the rest",
    """
average = decay * average + (1 - decay) * weight with a decay near 1 (0.999) takes a little of each
new value. With the two factors swapped, or a decay of 0.001, the average is the newest value but
for a thousandth: it smooths nothing, and a target network is no target. The same holds for tau of
a soft update, target = tau * weight + (1 - tau) * target: it is small.
""",
)

LEAST_WEIGHT = 0.9  # of the newest value
LEAST_TIMES = 3
LOOKS = 32
MOST = 128  # products that are remembered
NEWEST = re.compile(r"(?i)(^|[._])tau$")  # what a weight of the new value is called


class _Product:
    """A tensor times a number, by an op at one place."""

    def __init__(self, op, factor, tensor):
        self.result = weakref.ref(op.result)
        self.factor, self.address, self.site = factor, address_of(tensor), op.site
        first = _first(tensor)
        self.first = first / factor if op.name == "mul_" and first is not None else first


class _Update:
    """Updates at one place, of the first parameter that was seen there."""

    def __init__(self, site, address):
        self.site, self.address, self.after = site, address, None
        self.looks = self.times = 0
        self.kept = self.weight = 0.0
        self.nodes = None  # of the factors of the average and of the newest value


@check
class Moving(Check):
    kinds = ("average-follows-newest",)
    needs: ClassVar = {"*": ("step", 2, "fewer than 2 optimizer steps")}

    def start(self, doctor):
        self.held, self.products, self.seen = set(), {}, {}
        self.watch = doctor.watch
        doctor.watch.on("step", self.step)

    def step(self, optimizer):
        """Before the first step: from then on averages are looked for."""
        if not self.held:
            self.watch.on("op", self.scaled, ("mul", "mul_"))
            self.watch.on("op", self.added, ("add", "add_"))
            self.watch.on("op", self.mixed, ("lerp", "lerp_"))
        self.watch.off("step", self.step)
        self.watch.on("step", lambda optimizer: None)
        self.watch.on("optimizer", self.hold)
        self.hold(optimizer)

    def hold(self, optimizer):
        self.held |= {address_of(p) for g in optimizer.param_groups for p in g["params"]}

    def scaled(self, op):
        factor = op.args[1] if len(op.args) > 1 else None
        if isinstance(factor, float) and 0 < factor < 1 and isinstance(op.result, _C.TensorBase):
            self.products[id(op.result)] = _Product(op, factor, op.args[0])
            if len(self.products) > MOST:
                del self.products[next(iter(self.products))]

    def product(self, tensor) -> _Product | None:
        one = self.products.get(id(tensor))
        return one if one is not None and one.result() is tensor else None

    def added(self, op):
        if not self.products or len(op.args) < 2 or not isinstance(op.args[1], _C.TensorBase):
            return
        one, two = self.product(op.args[0]), self.product(op.args[1])
        alpha = op.kwargs.get("alpha")
        if one is not None and isinstance(alpha, float) and two is None:
            if address_of(op.args[1]) in self.held and one.address not in self.held:
                self.note(op, one.factor, alpha, address_of(op.args[1]), one.first, (one, None))
        elif one is not None and two is not None and alpha is None:
            for old, new in ((one, two), (two, one)):
                if new.address in self.held and old.address not in self.held:
                    self.note(op, old.factor, new.factor, new.address, old.first, (old, new))

    def mixed(self, op):
        """``average.lerp_(weight, share)``."""
        average, newest, share = op.args[0], op.argument(1, "end"), op.argument(2, "weight")
        newest, average = address_of(newest), address_of(average)
        if isinstance(share, float) and newest in self.held and average not in self.held:
            self.note(op, 1 - share, share, newest, None, None)

    def note(self, op, kept, weight, address, before, products):
        if abs(kept + weight - 1) > 1e-6:
            return
        entry = self.seen.setdefault(op.site, _Update(op.site, address))
        if entry.address != address or entry.looks >= LOOKS:
            return
        entry.looks += 1
        after = _first(op.result)
        goes_on = before is None or entry.after is None or _same(entry.after, before)
        if goes_on and weight >= LEAST_WEIGHT:
            entry.times += 1
            entry.kept, entry.weight = kept, weight
            if entry.nodes is None:
                entry.nodes = _factors(op, products, kept, weight)
        entry.after = after

    def findings(self, doctor):
        return [
            self.finding(one) for one in self.seen.values() if one.times == one.looks >= LEAST_TIMES
        ]

    def finding(self, one):
        evidence = [
            (
                f"in {one.times} of {one.times} updates looked at the newest weights counted "
                f"{one.weight:.4g}, and the average that they were added to {one.kept:.2g}"
            )
        ]
        at, fixes, source = one.site, [], one.site.source
        kept, weight = one.nodes or (None, None)
        decision = _number_at_fault(source, weight) if weight is not None else None
        if decision is not None:
            number = float(decision.node.value)
            at = decision.place
            fixes = [decision.fix(f"{1 - number:.4g}")]
        elif weight is not None and kept is None:  # lerp
            is_number = isinstance(weight, ast.Constant)
            rest = f"1 - {changes.atom(source, weight)}"
            fixes = [source.fix(weight, f"{one.kept:.4g}" if is_number else rest)]
        elif weight is not None:
            first, last = _beside(kept), _beside(weight)
            at = (source.file, min(first.lineno, last.lineno))
            swapped = (first, _text(source, last)), (last, _text(source, first))
            fixes = [Fix("the two factors swapped", [source.replace(*swapped)])]
        return found(
            "average-follows-newest", "wrong result", at,
            "the moving average is the newest value", evidence, [(one.site, "the update")], fixes,
        )  # fmt: skip


def _first(tensor) -> float | None:
    """A tensor's first value, by which it is known again."""
    return float(tensor.detach().reshape(-1)[0]) if tensor.numel() else None


def _same(one: float, two: float) -> bool:
    return abs(one - two) <= 1e-5 * max(abs(one), abs(two), 1e-6)


def _factors(op, products, kept: float, weight: float):
    """The nodes of the two factors; of lerp None and its weight."""
    node = op.site.node
    if products is None:
        return None, changes.keyword(node, "weight") or places.operand(op.site, 2)
    old, new = products
    first = _factor(old.site, op.frame, kept)
    last = changes.keyword(node, "alpha") if new is None else _factor(new.site, op.frame, weight)
    return (first, last) if first is not None and last is not None else None


def _factor(site, frame, number: float) -> ast.expr | None:
    """The operand of a product that is a number."""
    at = Failed(frame, site.file, site.line, "", site.source, None)
    for node in (places.operand(site, 0), places.operand(site, 1)):
        value = _value(at, node)
        if value is not None and abs(value - number) < 1e-9:
            return node
    return None


def _value(at, node) -> float | None:
    """The number that ``decay``, ``1 - decay`` or 0.9 stands for."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        sides = [_value(at, side) for side in (node.left, node.right)]
        return None if None in sides else sides[0] - sides[1]
    value = at.value(node, None) if node is not None else None
    return float(value) if isinstance(value, (int, float)) else None


def _beside(factor: ast.expr) -> ast.expr:
    """What changes places: the tensor that a factor stands beside, or the factor of a call."""
    product = factor.parent
    if not isinstance(product, ast.BinOp):
        return factor
    return product.right if factor is product.left else product.left


def _text(source, node: ast.expr) -> str:
    is_operand = isinstance(node.parent, ast.BinOp)
    return changes.atom(source, node) if is_operand else source.segment(node)


def _number_at_fault(source, weight) -> decided.Decision | None:
    """Where the number is decided that stands where it belongs and should be near 0, or near 1."""
    named = weight
    is_rest = isinstance(weight, ast.BinOp)
    if is_rest:
        named = weight.right
    is_new = bool(NEWEST.search(ast.unparse(named)))
    if isinstance(named, ast.Constant) or is_new == is_rest or called(named):
        return None
    decision = decided.follow(source, named, [])
    is_number = isinstance(decision.node, ast.Constant) and not decision.keyword
    return decision if is_number and isinstance(decision.node.value, float) else None
