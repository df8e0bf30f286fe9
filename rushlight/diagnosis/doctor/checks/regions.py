"""Regions of autocast that leave out what they are for."""

from __future__ import annotations

import ast
import weakref
from typing import ClassVar

from rushlight import _C, is_autocast_enabled

from ...finding import Edit, Fix
from ...frames import called
from ...registry import Check, check, kind
from ...unfolded import on_lines_of_their_own
from .. import places
from ..calls import site_of
from ..passes import LOSSES
from ..places import found

kind(
    "autocast-around-loss-only",
    "The autocast region holds the loss, and not the model's forward pass",
    """
Autocast runs matrix products and convolutions in half precision, which is where time and memory
go, and losses in float32. A region that begins behind model(x) changes nothing but the loss, which
it leaves in float32: put the forward pass into it, too.
""",
)

LEAST_TIMES = 3


@check
class Regions(Check):
    kinds = ("autocast-around-loss-only",)
    needs: ClassVar = {"*": ("backward", 1, "no backward ran")}

    def start(self, doctor):
        self.results, self.losses, self.passes, self.inside = [], {}, 0, 0
        doctor.watch.on("backward", lambda tensor, arguments: None)
        doctor.watch.on("call", self.call)
        doctor.watch.on("op", self.loss, LOSSES)

    def call(self, module, output, frame):
        if is_autocast_enabled("cpu"):
            self.inside += output is not None and next(module.parameters(), None) is not None
        elif isinstance(output, _C.TensorBase) and output.requires_grad:
            self.passes += 1
            self.results = [*self.results[-3:], (weakref.ref(output), site_of(frame))]

    def loss(self, op):
        if not self.results or not is_autocast_enabled("cpu"):
            return
        for result, site in self.results:
            if result() is op.args[0]:
                entry = self.losses.setdefault(op.site, [0, site])
                entry[0] += 1

    def findings(self, doctor):
        if self.inside:
            return []
        return [
            self.finding(site, *one) for site, one in self.losses.items() if one[0] >= LEAST_TIMES
        ]

    def finding(self, site, times, model):
        block = next((b for b in places.around(site.node) if _is_region(b)), None)
        if block is None:
            return None
        evidence = [
            (
                f"0 of {self.passes} forward passes ran in a region, {times} results of them went "
                f"into {called(site.node)} in this one"
            )
        ]
        statement, fixes = model.statement, []
        if model.file == site.file and isinstance(statement, ast.Assign):
            body = getattr(statement.parent, "body", [])
            if block in body and body.index(block) == body.index(statement) + 1:
                edit = _into(site.source, block, statement)
                fixes = [Fix("the forward pass in the region", [edit])]
        return found(
            "autocast-around-loss-only", "time", (site.file, block.lineno),
            "the model runs before the autocast region", evidence,
            [(model, "the forward pass")], fixes,
        )  # fmt: skip


def _is_region(node) -> bool:
    items = node.items if isinstance(node, ast.With) else ()
    return any("autocast" in ast.unparse(item.context_expr) for item in items)


@on_lines_of_their_own
def _into(source, block, statement):
    """The edit that moves the statement before a block into it."""
    by = len(source.indentation(block.body[0])) - len(source.indentation(statement))
    head = source.lines[block.lineno - 1 : block.body[0].lineno - 1]
    between = source.lines[statement.end_lineno : block.lineno - 1]
    text = [*between, *head, source.reindented(statement.lineno, statement.end_lineno, by)]
    return Edit(source.file, statement.lineno, block.body[0].lineno - 1, "\n".join(text))
