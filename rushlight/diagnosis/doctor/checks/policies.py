"""Policies that learn from rewards: which way, and whether each action meets its own return."""

from __future__ import annotations

import ast
import re
from typing import ClassVar

from ... import changes, construction, graphs
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "policy-flees-reward",
    "A policy's loss makes rewarded actions less likely",
    """
An optimizer makes the loss small. (log_prob * reward).sum() becomes small where rewarded actions
become unlikely: the policy learns to avoid what pays. The loss of a policy gradient has a minus
sign: loss = -(log_prob * reward).sum().
""",
)
kind(
    "bootstrapped-target-with-gradient",
    "The target of a loss is computed by the model that is trained, with gradients on",
    """
A target such as reward + gamma * q(next_state).max(1).values is a number to reach. With its graph
the step does not only move the prediction to the target but the target to the prediction, which is
another thing to learn, and mostly does not converge. Compute it under torch.no_grad(), or detach
it.
""",
)
kind(
    "returns-in-reverse",
    "Returns were collected from the last step to the first, and meet the actions in reverse",
    """
Going over reversed(rewards) and appending gives the last step's return first; the log-probabilities
stand in the order of the steps. The first action is then rewarded with what the last one earned.
Use returns.insert(0, g), or returns.reverse() behind the loop.
""",
)

REWARDS = re.compile(
    r"(?i)(^|[._])(disc\w*_)?(rews?|rewards?|returns?|rets?|advantages?|advs?|gains?)\d*$"
)
DISTANCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
LEAST_STEPS = 3
LOOKS = 8


class _Weighing:
    """A product of log-probabilities and rewards at one place: which way its gradients point."""

    def __init__(self, site, node):
        self.site, self.node = site, node
        self.steps = self.against = 0

    def __call__(self, gradient):
        self.steps += 1
        self.against += bool((gradient >= 0).all()) and bool((gradient > 0).any())


@check
class Policies(Check):
    kinds = ("policy-flees-reward", "returns-in-reverse")
    needs: ClassVar = {"*": ("op log_prob gather multinomial", 1, "nothing was drawn")}

    def start(self, doctor):
        self.drawn, self.products, self.reversed = False, {}, {}
        self.watch = doctor.watch
        doctor.watch.on("op", self.draw, ("multinomial", "normal"))

    def draw(self, op):
        """From the first action on: products, and lists that become tensors."""
        if not self.drawn:
            self.drawn = True
            self.watch.on("op", self.product, ("mul",))
            self.watch.on("op", self.collected, ("tensor", "as_tensor", "stack"))

    def product(self, op):
        if op.site not in self.products:
            self.products[op.site] = _weighing(op.site)
        one = self.products[op.site]
        if one is None or not op.result.requires_grad or one.steps > 200:
            return
        learns = [a for a in op.args[:2] if getattr(a, "requires_grad", False)]
        if len(learns) == 1 and bool((learns[0].detach() <= 0).all()):  # else the minus is in it
            op.result.register_hook(one)

    def collected(self, op):
        node = places.operand(op.site, 0)
        given = op.args[0] if op.args else None
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(given, (list, tuple)):
            return
        if op.site not in self.reversed:
            self.reversed[op.site] = [_appended_in_reverse(op.site, node), 0, 0]
        entry = self.reversed[op.site]
        entry[1], entry[2] = entry[1] + 1, len(given)

    def findings(self, doctor):
        out = [
            self.flees(one)
            for one in self.products.values()
            if one is not None and one.against == one.steps >= LEAST_STEPS
        ]
        return out + [
            self.in_reverse(site, *one) for site, one in self.reversed.items()
            if one[0] is not None and one[2] > 1
        ]  # fmt: skip

    def flees(self, one):
        source, node = one.site.source, one.site.node
        evidence = [
            (
                f"in {one.steps} of {one.steps} backward passes the gradient of log_prob * "
                f"{source.segment(one.node)} was positive: the step makes it smaller"
            )
        ]
        fixes = []
        if isinstance(node, ast.BinOp):
            fixes.append(
                source.fix(
                    node.left,
                    f"-{_factor(source, node.left)}",
                    f"-{_factor(source, node.left)} * {source.segment(node.right)}",
                )
            )
        return found(
            "policy-flees-reward", "wrong result", one.site,
            "the loss makes rewarded actions less likely", evidence, [], fixes,
        )  # fmt: skip

    def in_reverse(self, site, append, times, length):
        source, name = site.source, site.source.segment(append.func.value)
        evidence = [
            (
                f"{name} holds {length} returns, the last step's first; it became a tensor {times} "
                "times as it was"
            )
        ]
        text = f"{name}.insert(0, {source.segment(append.args[0])})"
        return found(
            "returns-in-reverse", "wrong result", (source.file, append.lineno),
            "returns are collected from the last step to the first", evidence,
            [(site, "they meet the steps in order")], [source.fix(append, text)],
        )  # fmt: skip


@check
class Bootstrapped(Check):
    kinds = ("bootstrapped-target-with-gradient",)
    needs: ClassVar = {"*": (f"op {' '.join(DISTANCES)}", 1, "no such loss was seen")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, DISTANCES)

    def op(self, op):
        scores, target = op.args[:2] if len(op.args) > 1 else (None, None)
        if not getattr(target, "requires_grad", False) or not scores.requires_grad:
            return
        entry = self.seen.setdefault(op.site, [0, 0, 0])
        if entry[0] < LOOKS:
            entry[0] += 1
            own = {id(p) for p in graphs.leaves(scores)}
            shared = [p for p in graphs.leaves(target) if id(p) in own]
            entry[1] += bool(shared) and _is_sum_with_a_constant(target)
            entry[2] = sum(p.numel() for p in shared)

    def findings(self, doctor):
        return [
            self.finding(site, looks, shared)
            for site, (looks, hits, shared) in self.seen.items()
            if hits == looks >= LEAST_STEPS
        ]

    def finding(self, site, looks, shared):
        source, call = site.source, places.call_at(site)
        node = construction.argument(call, 1, "target") if call is not None else None
        fixes = []
        if node is not None:
            fixes.append(source.fix(node, changes.method(source, node, "detach()")))
        return found(
            "bootstrapped-target-with-gradient", "wrong result", site,
            "the target moves towards the prediction", [
                (
                    f"in {looks} of {looks} losses looked at, the target carries gradients to "
                    f"{shared:,} values of parameters that the prediction is computed from, too"
                )
            ],
            [], fixes,
        )  # fmt: skip


def _is_sum_with_a_constant(target) -> bool:
    """Whether a result is a constant, such as rewards, plus what was computed with a graph."""
    node = target.grad_fn
    following = [n for n, _ in getattr(node, "next_functions", ())]
    return type(node).__name__ == "AddBackward0" and len(following) == 2 and None in following


def _factor(source, node: ast.expr) -> str:
    text = source.segment(node)
    return f"({text})" if isinstance(node, (ast.BinOp, ast.IfExp)) else text


def _weighing(site) -> _Weighing | None:
    """A product, one factor of which is called rewards and the other log-probabilities."""
    operands = [places.operand(site, number) for number in (0, 1)]
    texts = [_name(site.source, node) if node is not None else "" for node in operands]
    for number, other in ((0, 1), (1, 0)):
        if REWARDS.search(texts[number]) and "log" in texts[other].lower():
            return _Weighing(site, operands[number])
    return None


def _name(source, node: ast.expr) -> str:
    """The name at the root of an expression: ``rewards`` of ``torch.tensor(rewards)[:5]``."""
    while True:
        if isinstance(node, ast.Call) and node.args and called(node) in (
            "tensor", "as_tensor", "stack", "cat", "FloatTensor", "Tensor", "sum", "squeeze",
        ):  # fmt: skip
            node = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if called(node) == "log_prob":
                return "log_prob"
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return source.segment(node)


def _appended_in_reverse(site, node) -> ast.Call | None:
    """The append to a list in a loop over ``reversed(...)``, where nothing turns the list round."""
    source, name = site.source, ast.unparse(node)
    if not REWARDS.search(name):
        return None
    scope = source.function_of(node) or source.tree
    appends = []
    for part in ast.walk(scope):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            if ast.unparse(part.func.value) == name and part.func.attr in ("reverse", "insert"):
                return None
            if ast.unparse(part.func.value) == name and part.func.attr == "append":
                appends.append(part)
        if isinstance(part, ast.Subscript) and ast.unparse(part) == f"{name}[::-1]":
            return None
        if (
            called(part) in ("reversed", "flip")
            and ast.unparse(part.args[0] if part.args else part.func) == name
        ):
            return None
    loops = [source.loops_around(a) for a in appends]
    if len(appends) != 1 or not loops[0] or not isinstance(loops[0][0], ast.For):
        return None
    over = loops[0][0].iter
    accumulates = any(isinstance(n, (ast.Assign, ast.AugAssign)) for n in ast.walk(loops[0][0]))
    turned = called(over) == "reversed" or ast.unparse(over).endswith("[::-1]")
    back = called(site.source.statement_of(site.node)) == "flip"
    return appends[0] if turned and accumulates and not back and appends[0].args else None
