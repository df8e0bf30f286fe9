"""Errors about dtypes: operands that disagree, integers where numbers with fractions are needed."""

from __future__ import annotations

import ast
import itertools

from .. import changes, upstream, values
from ..blocks import block_of
from ..finding import Edit, Fix, Related
from ..registry import explains, kind
from . import Raised

kind(
    "dtype-mismatch",
    "Two operands have different dtypes",
    """
Products of matrices, layers and losses want operands of one dtype; only elementwise arithmetic
promotes. The usual way in is numpy, whose arrays are float64 unless asked otherwise:
torch.from_numpy keeps that, while weights are float32. Convert the data once, where it enters
(`torch.from_numpy(a).float()`, or `a.astype("float32")`), rather than the model: float64 weights
cost twice the memory and time.
""",
)


kind(
    "autocast-result-outside",
    "What autocast computed in half precision is used outside of it",
    """
Inside an autocast region layers return float16 or bfloat16; outside, nothing converts them, and a
layer with float32 weights refuses. Keep the whole forward pass and the loss inside the region, as
autocast is meant, or convert what leaves it: h.float().
""",
)


@explains(
    RuntimeError,
    r"must have the same dtype|expected scalar type|to have the same dtype"
    r"|Input type \(.*\) and (weight|bias) type \(.*\) should be the same",
)
def mismatch(raised: Raised):
    """A layer or product whose input's dtype is not its weight's."""
    modules = [m for m in raised.modules() if next(m.parameters(recurse=False), None) is not None]
    at = raised.innermost
    if not modules:
        return _operands(raised)
    if at.source is None or not isinstance(at.node, ast.Call) or not at.node.args:
        return None
    layer, argument = modules[-1], at.node.args[0]
    given = upstream.inner(raised.error, "input")
    given = given if values.is_tensor(given) else upstream.value(at, argument)
    weight = next(layer.parameters(recurse=False))
    if not values.is_tensor(given) or given.dtype == weight.dtype:
        return None
    wanted = values.dtype_name(weight.dtype)
    method = _method(weight.dtype)
    region = _autocast(raised, given, weight)
    if region is not None:
        return _left_region(raised, at, argument, given, region)
    spot = upstream.beginning(raised, given)
    evidence = values.table(
        [
            (at.source.segment(argument), values.describe(given), _made(spot)),
            (at.source.segment(at.node.func), values.describe_module(layer), f"weight {wanted}"),
        ]
    )
    place, fixes = at, []
    if spot is not None and _makes_data(spot, given):
        text = changes.method(spot.source, spot.node, method)
        place = spot.place
        edit = spot.source.replace((spot.node, text))
        fixes.append(Fix(f"{text}: {wanted} from here on", [edit]))
    call = changes.method(at.source, argument, method)
    fixes.append(at.source.fix(argument, call))
    related = at.related("the call that failed")
    title = f"{at.text} got {values.dtype_name(given.dtype)}, its weights are {wanted}"
    return raised.finding(
        "dtype-mismatch", title, place, evidence=evidence, related=related, fixes=fixes
    )


def _method(dtype) -> str:
    wanted = values.dtype_name(dtype)
    named = {"float32": "float()", "float64": "double()"}
    return named.get(wanted, f"to(torch.{wanted})")


def _makes_data(spot, given) -> bool:
    """Whether an expression brings the tensor in, rather than being a loop or a plain name."""
    in_loop = isinstance(getattr(spot.node, "parent", None), ast.For)
    return isinstance(spot.node, (ast.Call, ast.BinOp, ast.Subscript)) and not in_loop


def _made(spot) -> str:
    return f"made at {spot.where}" if spot is not None else ""


def _operands(raised: Raised):
    """a @ b, or a function, of two dtypes: the float64 one where it came in."""
    at = raised.innermost
    known = upstream.tensors(at)[:2]
    if len(known) < 2 or known[0][1].dtype == known[1][1].dtype:
        return None
    half = [k for k in known if k[1].dtype.itemsize < 4 and k[1].is_floating_point()]
    (part, wrong) = max(known, key=lambda k: (k[1].is_floating_point(), k[1].dtype.itemsize))
    if any(not v.is_floating_point() for _, v in known):
        part, wrong = next(k for k in known if not k[1].is_floating_point())
    elif half:
        part, wrong = half[0]
    other = next(v for p, v in known if p is not part)
    method = _method(other.dtype)
    region = _autocast(raised, wrong, other) if half else None
    if region is not None:
        return _left_region(raised, at, part, wrong, region)
    rows = [(at.source.segment(p), values.describe(v), values.made_at(v) or "") for p, v in known]
    fixes, place = [], at
    spot = upstream.of_tensor(wrong)
    if spot is not None and _makes_data(spot, wrong) and not half:
        text = changes.method(spot.source, spot.node, method)
        fixes.append(spot.fix(text))
        place = spot.place
    text = changes.method(at.source, part, method)
    fixes.append(at.source.fix(part, text))
    names = " and ".join(values.dtype_name(v.dtype) for _, v in known)
    return raised.finding(
        "dtype-mismatch",
        f"{at.text.splitlines()[0]}: {names}",
        place,
        evidence=values.table(rows),
        related=at.related("the operation that failed"),
        fixes=fixes,
    )


# ---- autocast


def _autocast(raised: Raised, given, weight):
    """The with-statement of an autocast region, where a half result meets float32 outside."""
    if values.dtype_name(given.dtype) not in ("float16", "bfloat16"):
        return None
    if values.dtype_name(weight.dtype) != "float32" or given.grad_fn is None:
        origin = upstream.of_tensor(given)
        if origin is None:
            return None
    for source in upstream.user_sources(raised):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.With) and any(
                upstream.called(i.context_expr) == "autocast" for i in node.items
            ):
                return upstream.Spot(source, node)
    return None


def _left_region(raised: Raised, at, argument, given, region):
    text = changes.method(at.source, argument, "float()")
    fixes = [at.source.fix(argument, text)]
    block, statement = region.node, at.statement
    if (block, statement) in itertools.pairwise(block_of(block)):
        space = len(at.source.indentation(block.body[0])) - len(at.source.indentation(block))
        moved = at.source.reindented(statement.lineno, statement.end_lineno, space)
        edit = Edit(at.file, statement.lineno, statement.end_lineno, moved)
        fixes.insert(0, Fix(f"line {statement.lineno} inside the region", [edit]))
    where = values.made_at(given)
    evidence = [
        f"{at.source.segment(argument)} is {values.describe(given)}"
        + (f", made at {where} under autocast" if where else ""),
        f"{at.text} runs outside of the region, where nothing converts it",
    ]
    return raised.finding(
        "autocast-result-outside",
        f"{at.source.segment(argument)} left an autocast region as "
        f"{values.dtype_name(given.dtype)}",
        evidence=evidence,
        related=[Related(region.file, region.line, "the region")],
        fixes=fixes,
    )
