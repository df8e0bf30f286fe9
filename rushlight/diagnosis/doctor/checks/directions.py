"""Steps that go the wrong way: a loss that is made larger, data that are made less likely."""

from __future__ import annotations

import ast
import itertools
import weakref
from typing import ClassVar

from rushlight import _C

from ... import changes, graphs
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from ...values import address_of
from .. import places
from ..calls import site_of
from ..passes import LOSSES
from ..places import found

kind(
    "loss-made-larger",
    "The optimizer makes the loss larger, step by step",
    """
An optimizer makes small what backward() was called on; with maximize=True it makes it large.
cross_entropy, mse_loss and the like measure how wrong a model is: they have to become small. Leave
maximize=True out, or the minus sign before the loss. Only what is good when it is large, such as a
reward or a likelihood, is maximized, or minimized with a minus sign.
""",
)
kind(
    "data-made-less-likely",
    "A log-probability is minimized: the data become less likely",
    """
log_softmax(scores)[range(n), labels] and distribution.log_prob(values) are large where the model
expects the data. A step that makes them small teaches it the opposite, and the loss falls without
end. The loss is the negative: loss = -distribution.log_prob(values).mean().
""",
)

MEASURES = LOSSES - {"kl_div", "gaussian_nll_loss"}  # of errors: none of them is below 0
LOGARITHMS = ("log_softmax", "log", "logsigmoid")
SCORES = ("sub", "neg", "squeeze", "logsumexp", "sum")  # what ends a log_prob of a distribution
DRAWING = ("multinomial", "normal", "bernoulli")
LEAST_STEPS = 5
MOST = 400  # passes looked at, at one place


class _Way:
    """What is computed at one place, and which way the steps move it."""

    def __init__(self, site, is_measure):
        self.site, self.is_measure = site, is_measure
        self.steps = self.against = self.count = 0
        self.values, self.value = [], None
        self.sign = self.at = self.optimizer = None
        self.leaves = set()  # of the first pass, by id

    def stepped(self, optimizer, is_maximized) -> None:
        wanted = -1 if self.is_measure else 1
        sign, self.sign = self.sign, None
        self.steps += 1
        self.against += sign * (-1 if is_maximized else 1) == wanted
        self.optimizer = optimizer
        self.values.append(self.value)

    @property
    def is_wrong(self) -> bool:
        """Whether all steps went the wrong way, and the values did, too."""
        third = len(self.values) // 3
        if not self.against == self.steps >= LEAST_STEPS:
            return False
        grown = sum(self.values[-third:]) - sum(self.values[:third])
        return grown > 0 if self.is_measure else grown < 0


@check
class Directions(Check):
    kinds = ("loss-made-larger", "data-made-less-likely")
    needs: ClassVar = {"*": ("step", LEAST_STEPS, "fewer than 5 optimizer steps")}

    def start(self, doctor):
        self.ways, self.scores, self.optimizers = {}, {}, {}
        self.is_running = self.is_drawn = self.has_stepped = False
        self.watch = watch = doctor.watch
        watch.on("optimizer", self.optimizer)
        watch.on("backward", self.backward)
        watch.on("backward_end", self.backward_end)
        watch.on("zero_grad", self.cleared)
        watch.on("module_zero_grad", self.cleared)
        watch.on("stepped", self.stepped)
        watch.on("op", self.measured, MEASURES)
        watch.on("op", self.picked, ("gather", "__getitem__"))
        watch.on("op", self.weighed, ("mul",))
        watch.on("op", self.scored, SCORES)
        watch.on("op", self.drawn, DRAWING)

    def optimizer(self, optimizer):
        self.optimizers[id(optimizer)] = (
            [site_of(frame) for frame in places.user_frames(3)][:1],
            {id(p) for group in optimizer.param_groups for p in group["params"]},
        )

    # ---- What is to become small, or large

    def measured(self, op):
        value = op.result
        if isinstance(value, _C.TensorBase) and value.requires_grad and value.numel() == 1:
            self.follow(op.site, value, True)

    def picked(self, op):
        """``log_probs.gather(1, labels)``, ``log_probs[range(n), labels]``."""
        index = op.args[-1] if len(op.args) > 1 else None
        labels = index[-1] if isinstance(index, tuple) else index
        if isinstance(labels, _C.TensorBase) and self.is_logarithm(op, op.args[0]):
            self.follow(op.site, op.result, False)

    def weighed(self, op):
        """``labels * log_probs``: labels of ones and zeros, or shares."""
        for one, two in (op.args[:2], op.args[1::-1]) if len(op.args) > 1 else ():
            if self.is_logarithm(op, one) and isinstance(two, _C.TensorBase):
                if not two.requires_grad and two.shape == one.shape and _are_shares(two):
                    self.follow(op.site, op.result, False)
                return

    def is_logarithm(self, op, tensor) -> bool:
        if self.is_drawn or not getattr(tensor, "requires_grad", False):
            return False
        made = op.calls.made(tensor)
        return made is not None and made.root.name in LOGARITHMS

    def scored(self, op):
        """``distribution.log_prob(values)``: the last op of it is what it returns."""
        known = self.scores.get(op.site)
        if known is None:
            known = self.scores[op.site] = [called(op.site.node) == "log_prob", None]
        if known[0] and not self.is_drawn and getattr(op.result, "requires_grad", False):
            known[1] = op.result

    def drawn(self, op):
        """What a policy does is drawn before it learns: which way it goes, rewards decide."""
        self.is_drawn |= not self.has_stepped and called(op.site.node) in ("sample", "multinomial")

    def follow(self, site, value, is_measure):
        way = self.ways.get(site)
        if way is None:
            way = self.ways[site] = _Way(site, is_measure)
            way.leaves = {id(leaf) for leaf in graphs.leaves(value)}
        way.count += 1
        if way.count <= MOST:
            number = float(value.detach().mean())
            value.register_hook(_C._forgiven(lambda gradient: self.reached(way, number, gradient)))

    def reached(self, way, number, gradient):
        if self.is_running:
            way.sign, way.value, way.at = _sign(gradient), number, self.is_running

    # ---- What became of it

    def backward(self, tensor, arguments):
        for site, known in self.scores.items():
            if known[1] is not None:
                self.follow(site, known[1], False)
                known[1] = None
        calls = self.watch.calls
        made = calls.made(tensor) if calls is not None else None
        self.is_running = made.site if made is not None and made.name in ("mean", "sum") else True

    def backward_end(self, tensor, arguments, error):
        self.is_running = False

    def cleared(self, *_):
        for way in self.ways.values():
            way.sign = None

    def stepped(self, optimizer):
        self.has_stepped = True
        _, held = self.optimizers.get(id(optimizer), (None, set()))
        is_maximized = any(group.get("maximize") for group in optimizer.param_groups)
        reached = [way for way in self.ways.values() if way.sign is not None]
        for way in reached:
            if way.leaves <= held and (not way.is_measure or len(reached) == 1):
                way.stepped(optimizer, is_maximized)
            else:
                way.steps += 1

    # ---- What is told

    def findings(self, doctor):
        return [self.finding(way) for way in self.ways.values() if way.is_wrong]

    def finding(self, way):
        sites = self.optimizers[id(way.optimizer)][0]
        is_maximized = any(group.get("maximize") for group in way.optimizer.param_groups)
        name = called(way.site.node) or "the loss"
        evidence = [
            (
                f"{way.steps} of {way.steps} steps went the way in which {name} "
                f"{'grows' if way.is_measure else 'falls'}: its mean went from "
                f"{way.values[0]:.4g} to {way.values[-1]:.4g}"
            )
        ]
        related = [(way.site, "what is computed")]
        if is_maximized and way.is_measure and sites:
            call = places.call_at(sites[0])
            fixes = []
            if call is not None and changes.keyword(call, "maximize") is not None:
                source = sites[0].source
                text = changes.without_keyword(source, call, "maximize")
                fixes = [source.fix(call, text, "without maximize=True")]
            return found(
                "loss-made-larger", "wrong result", sites[0],
                "the optimizer maximizes a loss", evidence, related, fixes,
            )  # fmt: skip
        if way.is_measure:
            source, minus = _negation(way.site)
            at = (source.file, minus.lineno) if minus is not None else way.site
            fixes = []
            if minus is not None:
                fixes = [source.fix(minus, source.segment(minus.operand), "without the minus sign")]
            return found(
                "loss-made-larger", "wrong result", at,
                "the loss is negated, and so is made larger", evidence, related, fixes,
            )  # fmt: skip
        at = way.site
        if way.at is not True and way.at is not None:
            scopes = [s.source.function_of(s.node) for s in (way.at, at) if s.node is not None]
            at = way.at if way.at.file == at.file and scopes[:1] == scopes[1:] else at
        fixes = []
        if isinstance(at.node, ast.expr):
            text = f"-{changes.atom(at.source, at.node)}"
            fixes = [Fix("a minus sign before it", [at.source.replace((at.node, text))])]
        return found(
            "data-made-less-likely", "wrong result", at,
            "the loss is a log-probability without its minus sign", evidence, related, fixes,
        )  # fmt: skip


@check
class ByHand(Check):
    """Steps that a program writes down itself: ``w += lr * w.grad``."""

    kinds = ("loss-made-larger",)

    def start(self, doctor):
        self.leaves, self.places, self.gradients, self.products = [], set(), set(), {}
        self.known = set()  # ids of all that losses depended on
        self.raised, self.losses, self.values, self.backwards = {}, 0, [], 0
        self.site, self.watch = None, doctor.watch
        watch = doctor.watch
        watch.on("backward", self.backward)
        watch.on("backward_end", self.backward_end)
        watch.on("step", self.step)
        watch.on("op", self.product, ("mul",))
        watch.on("op", self.added, ("add", "add_"))

    def step(self, optimizer):
        """An optimizer steps: nothing is done by hand."""
        for event, listener in (
            ("backward", self.backward), ("backward_end", self.backward_end),
            ("step", self.step), ("op", self.product), ("op", self.added),
        ):  # fmt: skip
            self.watch.off(event, listener)
        self.values, self.leaves = [], []

    def backward(self, tensor, arguments):
        self.judge()
        self.leaves = graphs.leaves(tensor) if self.backwards <= MOST else []
        if _is_error(tensor, self.watch.calls) and 0 < len(self.leaves) <= 64:
            self.losses += 1
            self.values.append(float(tensor.detach()))
            self.known |= {id(p) for p in self.leaves}
        else:
            self.leaves = []
        self.places = {address_of(p) for p in self.leaves}

    def backward_end(self, tensor, arguments, error):
        self.backwards += 1
        self.gradients = {address_of(p.grad) for p in self.leaves if p.grad is not None}
        self.products.clear()

    def judge(self):
        """Whether all that the last loss depends on was moved up its slope."""
        self.losses -= not self.places <= self.raised.keys()
        self.places, self.raised = set(), {}

    def product(self, op):
        for one, two in (op.args[:2], op.args[1::-1]) if self.gradients else ():
            is_step = isinstance(two, (int, float)) and two > 0 and isinstance(one, _C.TensorBase)
            if is_step and address_of(one) in self.gradients:
                self.products[id(op.result)] = weakref.ref(op.result)

    def added(self, op):
        if not self.gradients or len(op.args) < 2 or not isinstance(op.args[1], _C.TensorBase):
            return
        known = self.products.get(id(op.args[1]))
        is_product = known is not None and known() is op.args[1]
        alpha = op.kwargs.get("alpha", 1)
        if (is_product or address_of(op.args[1]) in self.gradients) and alpha > 0:
            self.raised[address_of(op.args[0])] = op.site
            self.site = self.site or op.site

    def findings(self, doctor):
        self.judge()
        models = doctor.passes.models.values()
        parameters = {id(p) for model in models for p in model.parameters()}
        is_whole = not parameters or self.known <= parameters
        count, third = len(self.values), len(self.values) // 3
        if not is_whole or self.site is None or not self.losses == count >= LEAST_STEPS:
            return []
        if not sum(self.values[-third:]) > sum(self.values[:third]):
            return []
        evidence = [
            (
                f"in {count} of {count} steps a multiple of the gradient was added: the loss went "
                f"from {self.values[0]:.4g} to {self.values[-1]:.4g}"
            )
        ]
        source, statement, fixes = self.site.source, self.site.statement, []
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
            target, value = source.segment(statement.target), source.segment(statement.value)
            text = f"{target} -= {value}"
            fixes = [Fix(text, [source.instead(statement, text)])]
        elif isinstance(self.site.node, ast.BinOp):
            sides = source.segment(self.site.node.left), source.segment(self.site.node.right)
            fixes = [source.fix(self.site.node, " - ".join(sides))]
        return [
            found(
                "loss-made-larger", "wrong result", self.site,
                "the steps go up the slope of the loss", evidence, [], fixes,
            )
        ]  # fmt: skip


def _is_error(tensor, calls) -> bool:
    """Whether a loss measures an error: one of the library's, or a square of a difference."""
    made = calls.made(tensor) if calls is not None else None
    if made is not None and made.name in MEASURES:
        return True
    names = [type(node).__name__ for node in itertools.islice(graphs.first_way(tensor), 3)]
    squares = ("PowBackward0", "MulBackward0")
    return (
        len(names) == 3
        and names[0] in ("MeanBackward0", "SumBackward0")
        and names[1] in squares and names[2] == "SubBackward0"
    )  # fmt: skip


def _sign(gradient) -> int:
    """1 or -1 where all that is not 0 of a gradient is one number above or below 0, else 0."""
    values = gradient.detach()[gradient.detach() != 0]
    if not values.numel():
        return 0
    low, high = float(values.min()), float(values.max())
    if high - low > 1e-4 * max(abs(high), abs(low)):
        return 0
    return 1 if low > 0 else -1


def _are_shares(labels) -> bool:
    """Whether numbers are from 0 to 1 and not all the same."""
    if labels.numel() < 2 or not labels.is_floating_point():
        return False
    low, high = float(labels.min()), float(labels.max())
    return 0 <= low < high <= 1


def _negation(site):
    """(source, the minus sign before a loss): around its call, or before its name further on."""
    source, node = site.source, site.node
    for outer in places.around(node) if node is not None else ():
        if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.USub):
            return source, outer
        if isinstance(outer, ast.stmt):
            break
    bound = places.bound_to(node) if node is not None else None
    name = ast.unparse(bound) if bound is not None else None
    for later in ast.walk(source.function_of(node) or source.tree) if name else ():
        is_minus = isinstance(later, ast.UnaryOp) and isinstance(later.op, ast.USub)
        if is_minus and ast.unparse(later.operand) == name and later.lineno >= node.lineno:
            return source, later
    return source, None
