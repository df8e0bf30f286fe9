"""Errors of asking one number of a tensor that holds several."""

from __future__ import annotations

import ast

from .. import changes, upstream, values
from ..registry import explains, kind
from . import Raised, try_calls

kind(
    "more-than-one-value",
    "One number was asked of a tensor that holds several",
    """
item(), float() and int() take a tensor of one element: reduce it first (mean(), sum()), or use
tolist() for all of them. `if tensor:` and `and`, `or`, `not` ask for one truth: say any() or
all(), and combine masks elementwise with &, | and ~. A comparison such as `if a == b:` is
elementwise; torch.equal(a, b) answers for the whole.
""",
)


@explains(
    (RuntimeError, ValueError),
    r"elements cannot be converted to Scalar|Boolean value of Tensor with more than one value"
    r"|only one element tensors can be converted to Python scalars",
)
def several(raised: Raised):
    """item(), float(t), bool(t) and if t: which reduction."""
    at = raised.innermost
    node = at.node
    if at.source is None or not isinstance(node, ast.expr):
        return None
    truth = "Boolean" in raised.message
    part, tensor = node, None
    if isinstance(node, ast.Call):
        found = upstream.tensors(at)
        part, tensor = found[0] if found else (node, None)
    if tensor is None:
        part, tensor = node, upstream.value(at, node)
    if not values.is_tensor(tensor) or tensor.numel() < 2:
        return None
    methods = ("any()", "all()") if truth else ("mean()", "sum()")
    fixes = [at.fix_part(part, changes.method(at.source, part, m)) for m in methods]
    return raised.finding(
        "more-than-one-value",
        f"{at.source.segment(part)} holds {tensor.numel()} values",
        evidence=[f"{at.source.segment(part)} is {values.describe(tensor)}"],
        fixes=try_calls(raised, fixes),
    )
