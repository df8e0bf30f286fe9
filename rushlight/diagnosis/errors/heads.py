"""Errors of attention heads that do not divide the width."""

from __future__ import annotations

import ast
import math

from .. import construction, decided, upstream
from ..registry import explains, kind
from . import Raised

kind(
    "heads-do-not-divide",
    "An attention's width is not a multiple of its number of heads",
    """
MultiheadAttention splits its embed_dim into num_heads equal parts, so the one has to divide the
other: 8 heads of width 8 for 64. Change either number.
""",
)


@explains((AssertionError, ValueError), r"must be divisible by(?! (?:num_)?groups)")
def heads(raised: Raised):
    """The next numbers of heads, and the next width, that divide."""
    at = raised.innermost
    call = at.node
    if not isinstance(call, ast.Call):
        return None
    wide = construction.argument(call, 0, "embed_dim") or construction.argument(call, 0, "d_model")
    many = construction.argument(call, 1, "num_heads") or construction.argument(call, 1, "nhead")
    width, count = (upstream.value(at, n) if n is not None else None for n in (wide, many))
    if type(width) is not int or type(count) is not int or count < 1:
        return None
    outer = decided.callers(raised)
    count_at = decided.follow(at.source, many, outer)
    width_at = decided.follow(at.source, wide, outer)
    if count_at.keyword and width_at.keyword:  # both are left to their defaults
        count_at, width_at = count_at.default or count_at, width_at.default or width_at
    fixes = [count_at.fix(str(n), f"{n} of width {width // n}") for n in near(width, count)[:1]]
    more = str(width + -width % count)
    fixes.append(width_at.fix(more, f"width {more}"))
    return raised.finding(
        "heads-do-not-divide",
        f"{upstream.called(call)}: {width} does not divide into {count} heads",
        count_at.place,
        evidence=[f"{width} = {count} * {width // count} + {width % count}"],
        related=at.related("the call that failed"),
        fixes=fixes,
    )


def near(width: int, heads: int) -> list[int]:
    """The numbers of heads that divide a width, the two that are nearest."""
    return sorted(divisors(width), key=lambda n: (abs(n - heads), n))[:2]


def divisors(number: int) -> list[int]:
    """What divides a number, in order; nothing for 0 and below."""
    small = [n for n in range(1, math.isqrt(max(number, 0)) + 1) if number % n == 0]
    return sorted({*small, *(number // n for n in small)})
