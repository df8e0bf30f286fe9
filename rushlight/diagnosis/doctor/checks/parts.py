"""Parts of a loss that are plain numbers: they are added, and nothing learns from them."""

from __future__ import annotations

import ast
from typing import ClassVar

from ...frames import called
from ...registry import Check, check, kind
from ...source import value_of
from .. import places
from ..places import found

kind(
    "loss-part-without-gradient",
    "A part of the loss is a Python number and has no gradient",
    """
item() and float() read a value. A penalty added as reg.item() makes the loss larger and changes no
gradient: the model is trained as if it were not there. Add the tensor, and read it only to show it.
""",
)


@check
class Parts(Check):
    kinds = ("loss-part-without-gradient",)
    needs: ClassVar = {"*": ("backward", 3, "fewer than 3 backward calls")}

    def start(self, doctor):
        self.read, self.backwards = {}, {}
        doctor.watch.on("op", self.op, ("item",))
        doctor.watch.on("backward", self.backward)

    def op(self, op):
        if op.args and op.args[0].requires_grad:
            self.read[op.site] = self.read.get(op.site, 0) + 1

    def backward(self, tensor, arguments):
        site = places.here()
        if site is not None:
            self.backwards[site] = self.backwards.get(site, 0) + 1

    def findings(self, doctor):
        out = []
        for site, count in self.backwards.items():
            call = places.call_at(site) if count >= 3 else None
            if call is None or not isinstance(call.func, ast.Attribute):
                continue
            source = site.source
            leading = source.leading_to(call.func.value)
            parts = [call.func.value, *map(value_of, leading)]
            added = {id(n): n for part in parts for n in ast.walk(part) if _is_added(n)}
            for read, times in self.read.items():
                node = read.node
                if id(node) in added and times >= 3:
                    out.append(self.finding(source, node, read, times, site))
        return out

    def finding(self, source, node, site, times, backward):
        inner = node.func.value if called(node) == "item" else node.args[0]
        text = source.segment(inner)
        return found(
            "loss-part-without-gradient", "wrong result", site,
            f"{source.segment(node)} adds a number: it has no gradient",
            [f"{times} times a value that requires grad became a number in the loss"],
            [(backward, "the backward of that loss")],
            [source.fix(node, text)],
        )  # fmt: skip


def _is_added(node: ast.AST) -> bool:
    """Whether ``x.item()`` or a multiple of it by a constant is added to something else."""
    if called(node) != "item" or not isinstance(node.func, ast.Attribute):
        return False
    parent = getattr(node, "parent", None)
    while isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Div)):
        other = parent.right if parent.left is node else parent.left
        divides = isinstance(parent.op, ast.Div) and parent.right is node
        if divides or not isinstance(other, (ast.Constant, ast.Name, ast.Attribute)):
            return False
        node, parent = parent, getattr(parent, "parent", None)
    if not isinstance(parent, ast.BinOp) or not isinstance(parent.op, (ast.Add, ast.Sub)):
        return False
    other = parent.right if parent.left is node else parent.left
    return not isinstance(other, ast.Constant)
