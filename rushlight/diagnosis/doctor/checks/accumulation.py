"""Gradients summed over several batches: a mean of each, added up, is their sum."""

from __future__ import annotations

import ast
from typing import ClassVar

from ... import changes
from ...registry import Check, check, kind
from .. import places
from ..passes import LOSSES
from ..places import found

kind(
    "accumulation-not-divided",
    "Accumulated gradients are a sum where a mean is meant",
    """
backward() adds to what is in .grad. After k batches, each with a loss that is a mean over its
batch, the gradients are k times those of one large batch, and with SGD each step is k times as
long: a learning rate that was fine without accumulation diverges. Divide each loss by k before
backward(): (loss / k).backward(). Optimizers that scale by the size of the gradient (Adam) hardly
notice, clipping and weight decay do.
""",
)


@check
class Accumulation(Check):
    kinds = ("accumulation-not-divided",)
    needs: ClassVar = {"*": ("step", 2, "fewer than 2 optimizer steps")}

    def start(self, doctor):
        self.calls = lambda tensor: doctor.watch.calls and doctor.watch.calls.made(tensor)
        self.turns, self.sites, self.plain, self.steps = {}, {}, {}, []
        doctor.watch.on("backward", self.backward)
        doctor.watch.on("step", self.step)

    def backward(self, tensor, arguments):
        site, made = places.here(), self.calls(tensor)
        if site is None:
            return
        self.turns[site] = self.turns.get(site, 0) + 1
        self.sites[site] = site
        if made is not None:
            is_mean = made.name in LOSSES or made.name == "mean"
            self.plain[site] = is_mean and self.plain.get(site, True)

    def step(self, optimizer):
        if len(self.turns) == 1 and type(optimizer).__name__ == "SGD":
            ((site, count),) = self.turns.items()
            self.steps.append((site, count, places.here()))
        else:
            self.steps.append((None, 0, None))
        self.turns.clear()

    def findings(self, doctor):
        if len({(site, at) for site, _, at in self.steps}) != 1 or len(self.steps) < 2:
            return []
        back, count, step = self.steps[0]
        if back is None or step is None or not self.plain.get(back) or step.code is not back.code:
            return []
        if any(n != count for _, n, _ in self.steps[:-1]) or count < 2:
            return []
        source, call = back.source, places.call_at(back)
        every = _every(source, step.statement, back.statement) if call is not None else None
        if every is None or _divided(source, call):
            return []
        text = f"({source.segment(call.func.value)} / {source.segment(every)})"
        fix = source.fix(call.func.value, text, f"{text}.backward()")
        return [
            found(
                "accumulation-not-divided", "wrong number", back,
                f"gradients of {count} batches are added up and not divided by {count}",
                [f"{count} backward calls for each of {len(self.steps)} steps, each of a mean"],
                [(step, "the step that uses the sum")], [fix],
            )
        ]  # fmt: skip


def _every(source, step, back) -> ast.expr | None:
    """The k of ``if (i + 1) % k == 0`` around the step, in the loop that backward stands in."""
    if step is None or back is None:
        return None
    loops = source.loops_around(back)[:1]
    node = step
    while node is not None and node not in loops:
        if isinstance(node, ast.If):
            for part in ast.walk(node.test):
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
                    inside = node.lineno <= back.lineno <= node.end_lineno
                    return None if inside else part.right
        node = getattr(node, "parent", None)
    return None


def _divided(source, call: ast.Call) -> bool:
    """Whether the loss is scaled on its way to backward."""
    nodes = [call.func.value]
    if isinstance(call.func.value, (ast.Name, ast.Attribute)):
        name = ast.unparse(call.func.value)
        nodes += [
            n
            for n in ast.walk(source.function_of(call) or source.tree)
            if isinstance(n, (ast.Assign, ast.AugAssign))
            and name in [ast.unparse(t) for t in getattr(n, "targets", None) or [n.target]]
        ]
    return any(
        isinstance(part, (ast.Div, ast.Mult)) or changes.keyword(part, "reduction") is not None
        for node in nodes
        for part in ast.walk(node)
    )
