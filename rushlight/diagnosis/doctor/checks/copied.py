"""Writing into what an index with a mask or a list gave: a copy that nobody reads."""

from __future__ import annotations

import ast

from rushlight import _C

from ...registry import Check, check, kind
from ..places import found

kind(
    "write-to-copy",
    "A value is written into a copy that an index made",
    """
x[mask] and x[list] are copies (x[2], x[1:3] are views). x[mask].fill_(0) and x[rows][:, 1] = 5
write into the copy, which is gone after the statement; x stays as it was, without an error. One
assignment with one index writes into x itself: x[mask] = 0, x[rows, 1] = 5.
""",
)

WRITING = ("fill_", "zero_", "add_", "sub_", "mul_", "div_", "copy_", "clamp_", "neg_", "abs_",
           "__setitem__")  # fmt: skip
SIGNS = {"add_": "+=", "sub_": "-=", "mul_": "*=", "div_": "/=", "fill_": "=", "copy_": "="}


@check
class Lost(Check):
    kinds = ("write-to-copy",)

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, WRITING)

    def op(self, op):
        site, made = op.site, op.source
        if site in self.seen or made is None or made.name != "__getitem__":
            return
        target = op.args[0]
        if not isinstance(target, _C.TensorBase) or target._base is not None:
            return
        if made.site.line == site.line:
            self.seen[site] = (op.name, tuple(target.shape))

    def findings(self, doctor):
        return [self.finding(s, *one) for s, one in self.seen.items()]

    def finding(self, site, name, shape):
        statement, source = site.statement, site.source
        new = outer = None
        if name == "__setitem__" and isinstance(statement, ast.Assign):
            outer = statement.targets[0]
            inner = getattr(outer, "value", None)
            if not isinstance(outer, ast.Subscript) or not isinstance(inner, ast.Subscript):
                return None
            new = _joined(source, outer, inner)
            fixes = [source.fix(outer, new)] if new else []
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            inner = getattr(call.func, "value", None)
            if not isinstance(inner, ast.Subscript) or call.func.attr != name:
                return None
            text = source.segment(inner)
            if name in SIGNS and len(call.args) == 1 and not call.keywords:
                new = f"{text} {SIGNS[name]} {source.segment(call.args[0])}"
            elif name == "zero_":
                new = f"{text} = 0"
            elif name in ("clamp_", "neg_", "abs_"):
                rest = source.segment(call)[len(text) :].replace(name, name[:-1], 1)
                new = f"{text} = {text}{rest}"
            fixes = [source.fix(statement, new)] if new else []
        else:
            return None
        evidence = [f"the index made a copy {shape}, which the statement writes to and drops"]
        return found(
            "write-to-copy", "wrong result", site, "this writes into a copy, not into the tensor",
            evidence, [], fixes,
        )  # fmt: skip


def _joined(source, outer: ast.Subscript, inner: ast.Subscript) -> str | None:
    """``x[rows][:, 1]`` as ``x[rows, 1]``; None where the two indices do not simply join."""
    parts = outer.slice.elts if isinstance(outer.slice, ast.Tuple) else [outer.slice]
    first = parts[0]
    if not isinstance(first, ast.Slice) or ast.unparse(first) != ":" or len(parts) < 2:
        return None
    if isinstance(inner.slice, ast.Tuple):
        return None
    rest = ", ".join(source.segment(p) for p in parts[1:])
    holder = source.segment(inner.value)
    return f"{holder}[{source.segment(inner.slice)}, {rest}]"
