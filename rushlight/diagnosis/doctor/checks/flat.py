"""Ops without a slope on the way to the loss: argmax, rounding, comparisons."""

from __future__ import annotations

import ast
import weakref
from typing import ClassVar

from rushlight import _C, nn

from ... import changes
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from ...values import parameters_of
from .. import places
from ..places import found
from .parameters import Held, _leaves_of

kind(
    "gradient-without-slope",
    "An op without a slope stands between parameters and the loss",
    """
argmax, a comparison and a conversion to whole numbers leave the graph; round, sign, floor and ceil
stay in it with the gradient 0 everywhere. What comes before them cannot learn through them. Train
on something smooth: softmax in place of argmax, the probability in place of the decision; or let
the gradient pass straight through: x + (x.round() - x).detach().
""",
)

STEPS = ("round", "sign", "floor", "ceil", "trunc", "heaviside", "sgn")
CHOICES = ("argmax", "argmin", "gt", "lt", "ge", "le", "__gt__", "__lt__", "argsort", "long", "int",
           "bool")  # fmt: skip
NUMBERS = ("item", "detach", "tolist", "numpy", "cpu", "data")  # of a loss, without its graph


@check
class WithoutSlope(Check):
    kinds = ("gradient-without-slope",)
    needs: ClassVar = {"*": ("step", 2, "fewer than 2 optimizer steps")}

    def start(self, doctor):
        self.cuts, self.steps, self.lively = {}, 0, set()
        self.held = {}
        watch = doctor.watch
        watch.on("op", self.op, {*STEPS, *CHOICES})
        watch.on("step", self.step)
        watch.on("backward", self.backward)
        self.losses = {}

    def backward(self, tensor, arguments):
        site = places.here()
        if site not in self.losses and tensor.dim() == 0:
            self.losses[site] = (places.origin_node(tensor), tensor.grad_fn is None)

    def op(self, op):
        given = op.args[0] if op.args else None
        if isinstance(given, _C.TensorBase) and given.grad_fn is not None:
            entry = self.cuts.get(op.site)
            if entry is None:
                entry = self.cuts[op.site] = [op.name, op.site, _leaves_of(given), 0]
            entry[3] += 1

    def step(self, optimizer):
        self.steps += 1
        if not self.cuts or (self.steps > 16 and self.steps % 16):
            return
        for p in parameters_of(optimizer):
            if id(p) in self.lively or not p.requires_grad:
                continue
            self.held[id(p)] = p
            if p.grad is not None and bool((p.grad.detach() != 0).any()):
                self.lively.add(id(p))

    def findings(self, doctor):
        dead = {i: p for i, p in self.held.items() if i not in self.lively}
        if self.steps < 3 or not dead:
            return []
        if len(dead) == len(self.held):  # where the loss is a leaf itself, another check tells
            leaf = any(is_leaf for _, is_leaf in self.losses.values())
            if leaf or any(p.grad is not None for p in dead.values()):
                return []
        out, told = [], set()
        for name, site, leaves, count in self.cuts.values():
            if not places.is_of(site, name):  # what checks its arguments, say
                continue
            mine = (leaves & dead.keys()) - told
            if mine and count >= 0.5 * self.steps and not leaves & self.lively:
                told |= mine
                out.append(self.finding(name, site, [dead[i] for i in mine]))
        return out

    def finding(self, name, site, parameters):
        values = sum(p.numel() for p in parameters)
        none = all(p.grad is None for p in parameters)
        evidence = [
            (
                f"{len(parameters)} parameters ({values:,} values) come to the loss through {name} "
                f"alone: their gradient was {'none' if none else '0 throughout'} in {self.steps} "
                "steps"
            )
        ]
        fixes, inner = [], places.operand(site, 0)
        if name in STEPS and isinstance(site.node, ast.Call) and inner is not None:
            source = site.source
            text, whole = changes.atom(source, inner), source.segment(site.node)
            new = f"{text} + ({whole} - {text}).detach()"
            if not isinstance(site.node.parent, (ast.Assign, ast.Return, ast.Call)):
                new = f"({new})"
            fixes.append(source.fix(site.node, new, f"{new}: straight through"))
        for built, _ in self.losses.values():
            fixes += _by_scores(name, site, built)
        return found(
            "gradient-without-slope", "wrong result", site,
            f"{name} lets no gradient through to what comes before it", evidence, [], fixes,
        )  # fmt: skip


kind(
    "loss-made-a-leaf",
    "requires_grad was set on a loss that has no graph",
    """
A loss without a graph raises in backward(): its path to the parameters is cut by argmax, detach,
item or no_grad. Setting requires_grad on it makes it a leaf of its own: backward() then runs, gives
the loss itself the gradient 1, and no parameter learns. Take the cut away instead.
""",
)


@check
class LeafLoss(Check):
    kinds = ("loss-made-a-leaf",)
    needs: ClassVar = {"*": ("backward", 1, "no backward ran")}

    def start(self, doctor):
        self.seen, self.optimizers, self.set_on = {}, [], {}
        doctor.watch.on("optimizer", self.optimizers.append)
        doctor.watch.on("backward", self.backward)
        doctor.watch.on("op", self.set, ("requires_grad_",))

    def set(self, op):
        if op.args and op.args[0].dim() == 0:
            self.set_on[op.site] = weakref.ref(op.args[0])

    def backward(self, tensor, arguments):
        if tensor.grad_fn is None and tensor.requires_grad and tensor.dim() == 0:
            site = places.here()
            if site is None or site in self.seen or isinstance(tensor, nn.Parameter):
                return
            trained = [p for o in self.optimizers for p in parameters_of(o)]
            if not any(p is tensor for p in trained):
                at = next((s for s, held in self.set_on.items() if held() is tensor), None)
                made = _C._origin(tensor), places.origin_node(tensor)
                self.seen[site] = (*made, bool(trained), at)

    def cut(self, doctor):
        """The first op without a slope that took a result of parameters, (name, site)."""
        check_ = next(c for c in doctor.checks if isinstance(c, WithoutSlope))
        return next(((n, site) for n, site, leaves, _ in check_.cuts.values() if leaves), None)

    def findings(self, doctor):
        out = []
        held = next(c for c in doctor.checks if isinstance(c, Held))
        for site, (origin, built, trained, set_at) in self.seen.items():
            if site.source is None:
                continue
            made = (origin[0], origin[2]) if origin else None
            evidence = ["backward() began at a leaf: 0 graph nodes lie between it and a parameter"]
            value = _rebuilt(built) if trained else None
            if value is not None:
                out.append(self.rebuilt(site, *built, value, evidence))
                continue
            node, source = _set_on(site), site.source
            if node is None and trained and set_at is not None and set_at.source is not None:
                node, source = places.call_at(set_at), set_at.source
            if node is None:
                continue
            cut = self.cut(doctor)
            fixes = _attached(source, node)
            if cut is not None:
                fixes += _by_scores(*cut, built)
            elif not fixes and held.cut():  # it names the cut itself
                continue
            if cut is not None:
                evidence.append(f"{cut[0]} at line {cut[1].line} left the graph of the parameters")
            out.append(
                found(
                    "loss-made-a-leaf", "wrong result",
                    cut[1] if cut is not None else (source.file, node.lineno),
                    "requires_grad on the loss hides that its graph was cut", evidence,
                    [(site, "the backward that reaches nothing"), (made, "the loss is made here")],
                    fixes,
                )
            )  # fmt: skip
        return out

    def rebuilt(self, site, source, call, value, evidence):
        text, statement = source.segment(value), source.statement_of(call)
        again = isinstance(statement, ast.Assign) and statement.value is call
        again = again and [source.segment(t) for t in statement.targets] == [text]
        edit = source.remove(statement) if again else source.replace((call, text))
        return found(
            "loss-made-a-leaf", "wrong result", (source.file, call.lineno),
            f"{ast.unparse(call.func)} makes a new loss of the old one's number", evidence,
            [(site, "the backward that reaches nothing")],
            [Fix("the loss itself has the graph", [edit])],
        )  # fmt: skip


def _by_scores(name: str, cut, loss) -> list[Fix]:
    """``mse_loss(scores.argmax(1), y)`` as a cross_entropy of the scores, which has a slope."""
    source, call = loss if loss is not None else (None, None)
    scores = places.operand(cut, 0) if name == "argmax" else None
    if scores is None or not isinstance(call, ast.Call) or len(call.args) != 2:
        return []
    given, target = call.args
    if cut.file != source.file or not isinstance(cut.node, ast.Call):
        return []
    nn_ = changes.prefix_for(source, "nn")
    want, edits = changes.method(source, target, "long()"), []
    text = source.segment(scores)
    if not any(part is cut.node for part in ast.walk(given)):
        statement = cut.statement
        single = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        if not single or ast.unparse(statement.targets[0]) != ast.unparse(given):
            return []
        edits = [source.replace((statement.value, text))]
        text = source.segment(given)
    new = f"{nn_}.functional.cross_entropy({text}, {want})"
    return [Fix(f"{new}: of the scores", [*edits, source.replace((call, new))])]


def _rebuilt(built):
    """What ``torch.tensor(loss.item(), requires_grad=True)`` made a leaf of: ``loss``."""
    call = built[1] if built is not None else None
    if not isinstance(call, ast.Call) or not call.args:
        return None
    if changes.keyword(call, "requires_grad") is None:
        return None
    value = call.args[0]
    while isinstance(value, ast.Call) and value.args and ast.unparse(value.func) == "float":
        value = value.args[0]
    while (name := called(value) or getattr(value, "attr", None)) in NUMBERS:
        value = value.value if name == "data" else value.func.value
    return None if isinstance(value, ast.Constant) else value


def _attached(source, node) -> list[Fix]:
    """``loss.data.requires_grad_()``: the loss itself."""
    on = node.func.value if isinstance(node, ast.Call) else None
    inner = on.value if isinstance(on, ast.Attribute) and on.attr == "data" else None
    inner = on.func.value if called(on) == "detach" else inner
    if inner is None:
        return []
    return [source.fix(node, source.segment(inner), ast.unparse(inner))]


def _set_on(site):
    """``loss.requires_grad = True`` or ``loss.requires_grad_()`` before a backward."""
    call = places.call_at(site)
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    if called(call.func.value) == "requires_grad_":
        return call.func.value
    name = ast.unparse(call.func.value)
    for node in ast.walk(site.source.function_of(call) or site.source.tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        func = node.func if isinstance(node, ast.Call) else None
        for one, attribute in ((func, "requires_grad_"), (target, "requires_grad")):
            named = isinstance(one, ast.Attribute) and one.attr == attribute
            if named and ast.unparse(one.value) == name:
                return node
    return None
