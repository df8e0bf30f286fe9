"""Penalties on the weights that the loss subtracts."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import nn

from ...frames import called
from ...registry import Check, check, kind
from ..places import found

kind(
    "penalty-rewards-large-weights",
    "A penalty on the weights is subtracted from the loss",
    """
loss - weight * sum of |w| gets smaller as the weights get larger: the optimizer makes them grow
without end, the opposite of what a penalty is for. Add it: loss + weight * penalty.
""",
)

SIZES = ("abs", "pow", "square", "norm", "linalg_norm", "linalg_vector_norm")
LEAST_PASSES = 3
MOST_PASSES = 100


class _Penalty:
    """The gradients at the sizes of parameters at one place: one negative number always, or not."""

    def __init__(self):
        self.parameters, self.passes, self.factor, self.is_one = set(), 0, None, True

    def __call__(self, gradient):
        low, high = float(gradient.min()), float(gradient.max())
        self.passes += 1
        self.factor = low if self.factor is None else self.factor
        self.is_one = self.is_one and low == high == self.factor


@check
class Penalties(Check):
    kinds = ("penalty-rewards-large-weights",)
    needs: ClassVar = {"*": ("step", LEAST_PASSES, "fewer than 3 optimizer steps")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("step", lambda optimizer: None)
        doctor.watch.on("op", self.op, SIZES)

    def op(self, op):
        parameter = op.args[0] if op.args else None
        if not isinstance(parameter, nn.Parameter) or not op.result.requires_grad:
            return
        entry = self.seen.setdefault(op.site, _Penalty())
        if entry.passes < MOST_PASSES:
            entry.parameters.add(id(parameter))
            op.result.register_hook(entry)

    def findings(self, doctor):
        return [
            self.finding(site, one)
            for site, one in self.seen.items()
            if one.passes >= LEAST_PASSES * len(one.parameters) > LEAST_PASSES
            and one.is_one and one.factor < 0
        ]  # fmt: skip

    def finding(self, site, one):
        evidence = [
            (
                f"the gradient at the size of {len(one.parameters)} parameters was "
                f"{one.factor:.3g} in {one.passes} of {one.passes} backward passes: each step "
                "makes them larger"
            )
        ]
        source, statement = site.source, site.statement
        at, fixes = site, []
        difference = _subtracting(source, statement)
        if difference is not None:
            at = (source.file, difference.lineno)
            left, right = difference.left, difference.right
            text = f"{source.segment(left)} + {source.segment(right)}"
            fixes.append(source.fix(difference, text))
        return found(
            "penalty-rewards-large-weights", "wrong result", at,
            "the loss subtracts the penalty on the weights", evidence,
            [(site, "the penalty")], fixes,
        )  # fmt: skip


def _subtracting(source, statement) -> ast.BinOp | None:
    """The difference ``loss - a * penalty`` whose right side comes from a statement."""
    function = source.function_of(statement) if statement is not None else None
    differences = [
        n for n in ast.walk(source.tree) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub)
    ]
    for node in differences:
        leading = source.leading_to(node.right)
        parts = [n for one in (node.right, *leading) for n in ast.walk(one)]
        is_called = function is not None and any(called(n) == function.name for n in parts)
        is_made = statement in leading or source.statement_of(node) is statement
        if is_called or is_made:
            return node
    return None
