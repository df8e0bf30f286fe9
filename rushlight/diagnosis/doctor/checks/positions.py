"""Positions that are told to the wrong dimension: to samples in place of time steps."""

from __future__ import annotations

import ast
import weakref
from typing import ClassVar

from rushlight import _C

from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "positions-along-batch",
    "A table of positions is added along the batch",
    """
A positional encoding of shape (length, 1, width) is written for tensors with time first. Added to
(batch, time, width) it gives each sample another vector and all of its positions the same one: the
model cannot tell positions apart, and its output depends on where in the batch a sample stands.
With batch_first take the table's first `time` rows as (1, time, width).
""",
)
ADDING = ("add", "__add__", "__radd__", "add_", "__iadd__")


@check
class Positions(Check):
    kinds = ("positions-along-batch",)
    needs: ClassVar = {"*": ("forward", 1, "no module ran")}

    def start(self, doctor):
        self.added, self.seen = {}, {}
        doctor.watch.on("op", self.op, (*ADDING, "dropout", "dropout_"))
        doctor.watch.on("forward", self.forward)

    def op(self, op):
        if op.name.startswith("dropout"):
            known = self.known(op.args[0]) if op.args else None
        else:
            known = self.table(op)
        if known is not None and isinstance(op.result, _C.TensorBase):
            if len(self.added) > 200:
                self.added = {k: v for k, v in self.added.items() if v[0]() is not None}
            self.added[id(op.result)] = (weakref.ref(op.result), known)

    def known(self, tensor):
        entry = self.added.get(id(tensor))
        return entry[1] if entry is not None and entry[0]() is tensor else None

    def table(self, op):
        """(site, which operand, shapes) where (n, 1, d) of a table is added to (n, t, d)."""
        pair = op.args[:2]
        if len(pair) < 2 or not all(isinstance(a, _C.TensorBase) and a.dim() == 3 for a in pair):
            return None
        for number, (one, other) in enumerate((pair, pair[::-1])):
            n, t, d = other.shape
            is_table = tuple(one.shape) == (n, 1, d) and not one.requires_grad and min(n, t) > 1
            made = op.calls.made(one)
            if is_table and other.requires_grad and made is not None and made.name == "__getitem__":
                return op.site, number, tuple(one.shape), tuple(other.shape)
        return None

    def forward(self, module, args, output):
        if getattr(module, "batch_first", False) or hasattr(module, "layers"):
            known = self.known(args[0]) if args else None
            first = next((m for m in module.modules() if getattr(m, "batch_first", False)), None)
            if known is not None and first is not None:
                entry = self.seen.setdefault(known[0], [known, type(module).__name__, 0])
                entry[2] += 1

    def findings(self, doctor):
        return [self.finding(*one) for one in self.seen.values()]

    def finding(self, known, name, count):
        site, number, table, shape = known
        node, fixes = places.operand(site, number), []
        other = places.operand(site, 1 - number)
        if isinstance(node, ast.Subscript) and other is not None:
            held, x = site.source.segment(node.value), site.source.segment(other)
            text = f"{held}[:{x}.size(1)].transpose(0, 1)"
            fixes.append(site.source.fix(node, text))
        read = f"whose dimension 0 {name} reads as the batch"
        return found(
            "positions-along-batch", "wrong result", site,
            "the table of positions is added along the batch",
            [f"{table} was added to {shape}, {read}: {count} times"], [], fixes,
        )  # fmt: skip
