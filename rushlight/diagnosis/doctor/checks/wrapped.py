"""Sums and differences of small whole numbers that did not fit, and went round."""

from __future__ import annotations

import ast

import rushlight
from rushlight import _C

from ... import changes
from ...finding import Fix
from ...registry import Check, check, kind
from ...values import dtype_name
from .. import places
from ..places import found

kind(
    "whole-numbers-wrapped",
    "Sums or differences of small whole numbers went beyond their range and wrapped",
    """
A uint8 holds 0 to 255 and nothing else: 3 - 5 gives 254, 200 + 100 gives 44, without any error.
Differences and sums of images are wrong wherever that happens. Convert one operand first: a.float()
- b, or a.int() - b.
""",
)

RANGES = {
    dtype: (rushlight.iinfo(dtype).min, rushlight.iinfo(dtype).max)
    for dtype in (rushlight.uint8, rushlight.int8, rushlight.int16)
}
OPS = {"add": 1, "sub": 1, "mul": 1, "rsub": 1, "add_": 1, "sub_": 1, "neg": 0}
# What takes the result as the number that it is: hashes and checksums go on with bits.
READING = frozenset(
    "float double half to type div true_divide mean sum pow square abs gt lt ge le max min amax "
    "amin mse_loss l1_loss".split()
)
MOST = 1 << 22  # elements that are looked at


@check
class Wrapped(Check):
    kinds = ("whole-numbers-wrapped",)

    def start(self, doctor):
        self.seen, self.read = {}, {}
        doctor.watch.on("op", self.op, [*OPS])
        doctor.watch.on("op", self.reading, READING)

    def op(self, op):
        limits = RANGES.get(op.result.dtype)
        if limits is None or op.result.device.type != "cpu" or op.result.numel() > MOST:
            return
        entry = self.seen.setdefault(op.site, [op, 0, 0, None])
        exact = _exact(op) if entry[2] < MOST else None
        if exact is None:
            return
        result = op.result.to(rushlight.int64)
        wrong = exact != result
        entry[1] += int(wrong.sum())
        entry[2] += result.numel()
        if entry[1] and entry[3] is None:
            entry[3] = (int(exact[wrong][0]), int(result[wrong][0]))

    def reading(self, op):
        made = op.source if self.seen else None
        if made is not None and made.root.name in OPS and made.root.site in self.seen:
            self.read.setdefault(made.root.site, op.site)

    def findings(self, doctor):
        wrapped = [one for site, one in self.seen.items() if one[1] and site in self.read]
        return [self.finding(*one) for one in wrapped]

    def finding(self, op, wrapped, total, example):
        site, dtype = op.site, dtype_name(op.result.dtype)
        low, high = RANGES[op.result.dtype]
        evidence = [
            (
                f"{wrapped:,} of {total:,} results lie outside {low} to {high}, the range of "
                f"{dtype}: {example[0]} became {example[1]}"
            )
        ]
        return found(
            "whole-numbers-wrapped", "wrong result", site,
            f"this {dtype} arithmetic wraps round", evidence,
            [(self.read[site], "the number made from it")], _fixes(site),
        )  # fmt: skip


def _exact(op):
    """The result as it is without limits, in int64; None where it is not known."""
    name, args = op.name, [_wide(a) for a in op.args]
    if None in args or op.kwargs or len(args) != 1 + OPS[name]:
        return None
    a, b = (*args, None)[:2]
    if name.endswith("_"):  # the first operand holds the result, from which the wrapping goes back
        a = _wide({"add_": op.args[0] - op.args[1], "sub_": op.args[0] + op.args[1]}[name])
    return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b,
            "rsub": lambda: b - a, "neg": lambda: -a}[name.rstrip("_")]()  # fmt: skip


def _wide(value):
    if isinstance(value, _C.TensorBase):
        return value.to(rushlight.int64)
    return value if isinstance(value, int) else None


def _fixes(site) -> list[Fix]:
    """The first operand made float before the operation."""
    source, statement = site.source, site.statement
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        text = changes.out_of_place(source, statement)
        text = text.replace(f"= {statement.target.id} ", f"= {statement.target.id}.float() ", 1)
        return [Fix(text, [source.instead(statement, text)])]
    node = site.node
    first = node.operand if isinstance(node, ast.UnaryOp) else places.operand(site, 0)
    if isinstance(first, ast.Constant):
        first = places.operand(site, 1)
    if first is None or isinstance(statement, ast.AugAssign):
        return []
    text = changes.method(source, first, "float()")
    return [source.fix(first, text)]
