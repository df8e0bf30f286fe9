"""Errors of arguments: names that are misspelt, sizes that are no tuple, rates in percent."""

from __future__ import annotations

import ast
import difflib
import inspect

from rushlight import nn

from .. import construction, frames, upstream, values
from ..registry import explains, kind
from . import Raised, try_calls

kind(
    "name-misspelt",
    "An argument or attribute has another name",
    """
The call does not know this keyword, or the object this attribute; one that is spelt nearly so is
there. For a class of the program's own look at its __init__ as well: an attribute is there only
after the line that assigns it has run.
""",
)
kind(
    "size-not-tuple",
    "A size is given as a number where a tuple is wanted",
    """
randint(low, high, size) and normal(mean, std, size) take the size as one tuple, since numbers stand
before it: torch.randint(0, 10, (32,)). rand, zeros and ones take the sizes one by one.
""",
)
kind(
    "rate-in-percent",
    "A probability is larger than one",
    """
Dropout's p is the share of values that are dropped, between 0 and 1: nn.Dropout(0.5), not 50.
""",
)


@explains(TypeError, r"got an unexpected keyword argument '(\w+)'")
def keyword(raised: Raised):
    """The parameter whose name is nearest."""
    at, name = raised.innermost, raised.match[1]
    call = at.node if isinstance(at.node, ast.Call) else None
    given = next((k for k in call.keywords if k.arg == name), None) if call is not None else None
    function = at.value(call.func, None) if given is not None else None
    try:
        known = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None
    near = difflib.get_close_matches(name, known, 1, 0.7)
    if not near:
        return None
    text = f"{near[0]}={at.source.segment(given.value)}"
    return raised.finding(
        "name-misspelt",
        f"{at.source.segment(call.func)} has no argument {name}, it has {near[0]}",
        (at.file, given.value.lineno),
        evidence=[f"{len(known)} arguments: {', '.join(known)}"[:150]],
        fixes=[at.source.fix(given, text)],
    )


@explains(AttributeError, r"has no attribute '(\w+)'")
def attribute(raised: Raised):
    """The attribute whose name is nearest, of a tensor, module, optimizer or the package."""
    at, error = raised.innermost, raised.error
    held, name = getattr(error, "obj", None), raised.match[1]
    owner = type(held).__module__ if not inspect.ismodule(held) else held.__name__
    of_ours = owner.partition(".")[0] in ("rushlight", "torch") or isinstance(held, nn.Module)
    if at.node is None or not of_ours:
        return None
    nodes = [n for n in ast.walk(at.node) if isinstance(n, ast.Attribute) and n.attr == name]
    near = difflib.get_close_matches(name, [n for n in dir(held) if n[0] != "_"], 1, 0.75)
    if len(nodes) != 1 or not near:
        return None
    holder = at.source.segment(nodes[0].value)
    text = f"{holder}.{near[0]}"
    kind_ = "" if inspect.ismodule(held) else f"{holder} is {values.describe(held)}; "
    return raised.finding(
        "name-misspelt",
        f"{holder} has no {name}, it has {near[0]}",
        (at.file, nodes[0].lineno),
        evidence=[f"{kind_}1 of its {len(dir(held))} names is spelt nearly so"],
        fixes=[at.source.fix(nodes[0], text)],
    )


@explains(TypeError, r"^(randint|normal|randint_like)\(\) received an invalid combination")
def size(raised: Raised):
    """``randint(0, 5, 10)``: the last number as a tuple."""
    at, node = raised.innermost, raised.innermost.node
    if frames.called(node) != raised.match[1] or len(node.args) != 3:
        return None
    held = upstream.value(at, node.args[2])
    if type(held) is not int:
        return None
    text = at.source.segment(node.args[2])
    fix = at.fix_part(node.args[2], f"({text},)")
    return raised.finding(
        "size-not-tuple",
        f"the size of {raised.match[1]} is a tuple",
        (at.file, node.lineno),
        evidence=[f"{text} is the number {held}"],
        fixes=try_calls(raised, [fix]),
    )


@explains(ValueError, r"dropout probability has to be between 0 and 1, but got ([\d.]+)")
def percent(raised: Raised):
    """``nn.Dropout(50)``."""
    at, rate = raised.innermost, float(raised.match[1])
    given = construction.argument(at.node, 0, "p") if isinstance(at.node, ast.Call) else None
    if given is None or not 1 < rate <= 100:
        return None
    number = f"{rate / 100:g}"
    text = number if isinstance(given, ast.Constant) else f"{at.source.segment(given)} / 100"
    return raised.finding(
        "rate-in-percent",
        f"{rate:g} is no share of values",
        (at.file, given.lineno),
        evidence=[f"p lies between 0 and 1; {rate:g} percent is {number}"],
        fixes=[at.source.fix(given, text)],
    )
