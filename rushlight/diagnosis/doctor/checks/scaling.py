"""The loss scale of mixed precision, where it falls at each step."""

from __future__ import annotations

import ast
from typing import ClassVar

from ...finding import Edit, Fix
from ...registry import Check, check, kind
from ...unfolded import on_lines_of_their_own
from .. import places
from ..places import found

kind(
    "loss-scale-falls",
    "The loss scale falls at nearly every step",
    """
GradScaler skips a step and halves its scale when a gradient is infinite or NaN. Now and then that
is how it finds the right scale. At nearly every step it means that gradients overflow for another
reason: a NaN in the forward pass or the data, or a loss that explodes. No step is made while that
lasts.
""",
)


kind(
    "backward-under-autocast",
    "backward() runs inside of the autocast region",
    """
Backward ops run in the dtypes that autocast chose for their forward ops; they need no region, and
PyTorch advises against one around backward(): ops of a custom backward would be cast once more. End
the region before backward().
""",
)


@check
class BackwardInside(Check):
    kinds = ("backward-under-autocast",)
    needs: ClassVar = {"*": ("backward", 1, "no backward ran")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("backward", self.backward)

    def backward(self, tensor, arguments):
        from rushlight import is_autocast_enabled

        if is_autocast_enabled("cpu"):
            site = places.here()
            self.seen[site] = self.seen.get(site, 0) + 1

    def findings(self, doctor):
        return [self.finding(s, n) for s, n in self.seen.items() if s is not None and n > 1]

    def finding(self, site, count):
        fixes, statement = [], site.statement
        block = getattr(statement, "parent", None)
        if (
            isinstance(block, ast.With)
            and block.body[0] is not statement
            and any("autocast" in ast.unparse(i.context_expr) for i in block.items)
        ):
            rest = block.body[block.body.index(statement) :]
            edit = _behind(site.source, block, rest)
            fixes.append(Fix("after the region", [edit]))
        title = "backward runs inside of the autocast region"
        evidence = [f"{count} backward calls with autocast on"]
        return found("backward-under-autocast", "note", site, title, evidence, [], fixes)


@on_lines_of_their_own
def _behind(source, block, rest: list):
    """The edit that moves the last statements of a block out of it."""
    first, last = rest[0].lineno, rest[-1].end_lineno
    by = len(source.indentation(block)) - len(source.indentation(rest[0]))
    return Edit(source.file, first, last, source.reindented(first, last, by))


@check
class Scaling(Check):
    kinds = ("loss-scale-falls",)
    needs: ClassVar = {
        "*": ("scaler_update", 6, "no loss scale was used"),
    }

    def start(self, doctor):
        self.seen = {}  # by scaler: [scaler, updates, times it fell, first scale, last scale]
        self.site = None
        doctor.watch.on("scaler_step", self.step)
        doctor.watch.on("scaler_update", self.update)

    def step(self, scaler, optimizer):
        self.site = places.here()

    def update(self, scaler):
        now = scaler.get_scale()
        entry = self.seen.setdefault(id(scaler), [scaler, 0, 0, None, None])
        entry[1] += 1
        if entry[4] is not None and now < entry[4]:
            entry[2] += 1
        entry[3] = entry[3] or now
        entry[4] = now

    def findings(self, doctor):
        out = []
        for scaler, updates, fell, first, last in self.seen.values():
            if self.site is None or not scaler.is_enabled() or fell < 5 or fell < 0.8 * updates - 1:
                continue
            evidence = [
                (
                    f"{fell} of {updates} updates lowered it, from {first:g} to {last:g}: as many "
                    "steps were skipped"
                )
            ]
            title = "the loss scale falls at nearly every step"
            out.append(found("loss-scale-falls", "wrong result", self.site, title, evidence))
        return out
