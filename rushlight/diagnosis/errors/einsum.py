"""Errors of einsum: a letter that stands for two sizes, operands of another rank."""

from __future__ import annotations

import ast
import itertools

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
    fixes, title = [], raised.message.splitlines()[0][:76]
    if "." not in left and len(terms) == len(tensors):
        shapes = [tuple(t.shape) for t in tensors]
        title = _disagreement(terms, shapes, [text for _, text, _ in rows]) or title
        if isinstance(node.args[0], ast.Constant):
            for i, term in _orders(terms, shapes):
                changed = ",".join([*terms[:i], term, *terms[i + 1 :]]) + arrow + right
                fixes.append(at.fix_part(node.args[0], f'"{changed}"'))
    return raised.finding(
        "einsum-sizes", title, evidence=values.table(rows), fixes=try_calls(raised, fixes)
    )


def _disagreement(terms, shapes, texts) -> str | None:
    """Which operand has another number of dimensions than letters, or which letter two sizes."""
    seen: dict[str, tuple] = {}
    for term, shape, text in zip(terms, shapes, texts, strict=True):
        if len(term) != len(shape):
            return f"{term} has {len(term)} letters, {text} {len(shape)} dimensions"
        for letter, size in zip(term, shape, strict=True):
            known, by = seen.setdefault(letter, (size, text))
            if known not in (size, 1) and size != 1:
                return f"{letter} is {known} in {by} and {size} in {text}"
    return None


def _orders(terms, shapes):
    """(number, letters) of operands whose letters fit otherwise: least changed first, then last."""
    found = []
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        if len(term) != len(shape) or len(term) > 5:
            continue
        others = [n for n in range(len(terms)) if n != i]
        fixed = {c: s for n in others for c, s in zip(terms[n], shapes[n], strict=False)}
        for order in itertools.permutations(term):
            if all(fixed.get(c, s) == s for c, s in zip(order, shape, strict=True)):
                moved = sum(a != b for a, b in zip(order, term, strict=True))
                found.append((moved, -i, "".join(order)))
    return [(-i, term) for moved, i, term in sorted(found)[:4] if moved]
