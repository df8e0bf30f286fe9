"""Errors of einsum: a letter that stands for two sizes, operands of another rank."""

from __future__ import annotations

import ast

from .. import upstream, values
from ..registry import explains, kind
from . import Raised, try_calls

kind(
    "einsum-sizes",
    "A letter of an einsum stands for two sizes",
    """
Each letter names one dimension, and has one size wherever it stands. When two operands give it
different sizes, the letters are in another order than the tensor's dimensions (swap them in the
equation, which costs nothing), or the wrong tensor came in. Each operand needs as many letters as
it has dimensions; "..." stands for the rest.
""",
)


@explains(RuntimeError, r"einsum\(\)")
def einsum(raised: Raised):
    """The equation with the sizes of its letters, and orders of letters that fit."""
    at = raised.innermost
    node = at.node
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    equation = at.value(node.args[0], None)
    tensors = [upstream.value(at, a) for a in node.args[1:]]
    if not isinstance(equation, str) or not all(values.is_tensor(t) for t in tensors):
        return None
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    rows = [
        (term, at.source.segment(a), values.describe(t))
        for term, a, t in zip(terms, node.args[1:], tensors, strict=False)
    ]
    fixes = []
    if isinstance(node.args[0], ast.Constant) and len(terms) == len(tensors):
        for i, term in enumerate(terms):
            if len(term) == 2 and "." not in term:
                swapped = ",".join([*terms[:i], term[::-1], *terms[i + 1 :]]) + arrow + right
                fixes.append(at.fix_part(node.args[0], f'"{swapped}"'))
    return raised.finding(
        "einsum-sizes",
        raised.message.splitlines()[0][:76],
        evidence=values.table(rows),
        fixes=try_calls(raised, fixes),
    )
