"""Errors about dtypes: operands that disagree, integers where numbers with fractions are needed."""

from __future__ import annotations

import ast

from rushlight import _C

from .. import source, values
from ..finding import Fix, Related
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


@explains(RuntimeError, r"must have the same dtype|expected scalar type|to have the same dtype")
def mismatch(raised: Raised):
    """A layer or product whose input's dtype is not its weight's."""
    modules = [m for m in raised.modules() if next(m.parameters(recurse=False), None) is not None]
    at = raised.innermost
    if not modules or at.source is None or not isinstance(at.node, ast.Call) or not at.node.args:
        return None
    layer, argument = modules[-1], at.node.args[0]
    given = at.value(argument, None)
    weight = next(layer.parameters(recurse=False))
    if not values.is_tensor(given) or given.dtype == weight.dtype:
        return None
    method = "float" if weight.dtype.is_floating_point else "to"
    wanted = values.dtype_name(weight.dtype)
    method = {"float32": "float()", "float64": "double()"}.get(wanted, f"to(torch.{wanted})")
    origin = _C._origin(given)
    evidence = values.table(
        [
            (at.source.segment(argument), values.describe(given), made(origin)),
            (at.source.segment(at.node.func), values.describe_module(layer), f"weight {wanted}"),
        ]
    )
    place, fixes = at, []
    maker = source.Source.of(origin[0]) if origin else None
    node = maker.node_at(origin[2], origin[3], origin[4], origin[5]) if maker else None
    if isinstance(node, ast.Call):
        text = f"{maker.segment(node)}.{method}"
        place = (origin[0], origin[2])
        fixes.append(Fix(f"{text}: {wanted} from here on", [maker.replace((node, text))]))
    call = f"{at.source.segment(argument)}.{method}"
    fixes.append(Fix(call, [at.source.replace((argument, call))]))
    related = [Related(at.file, at.line, "the call that failed")] if place is not at else []
    title = f"{at.text} got {values.dtype_name(given.dtype)}, its weights are {wanted}"
    return raised.finding(
        "dtype-mismatch", title, place, evidence=evidence, related=related, fixes=fixes
    )


def made(origin) -> str:
    """``made at file.py:7``, or nothing where that is not known."""
    place = values.place_of(origin)
    return f"made at {place}" if place else ""
