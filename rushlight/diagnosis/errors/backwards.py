"""Errors of custom functions and hooks during backward: too few gradients, other shapes."""

from __future__ import annotations

import ast

from .. import upstream
from ..registry import explains, kind
from . import Raised

kind(
    "function-gradient-count",
    "A custom backward returns another number of gradients than forward has inputs",
    """
backward returns one gradient for each argument of forward after ctx, in their order: None for
those that are no tensors or need none.
""",
)
kind(
    "hook-changes-shape",
    "A hook returned a gradient of another shape",
    """
What a tensor hook returns takes the gradient's place, so it has the gradient's shape. A hook that
only looks returns nothing.
""",
)


@explains(
    RuntimeError,
    r"function (\w+)Backward returned an incorrect number of gradients \(expected (\d+), got (\d+)",
)
def count(raised: Raised):
    """The return of that function's backward, with None for what is missing."""
    at = raised.innermost
    wanted, got = int(raised.match[2]), int(raised.match[3])
    for source, owner in upstream.classes(upstream.user_sources(raised), raised.match[1]):
        ends = [
            node
            for function in owner.body
            if isinstance(function, ast.FunctionDef) and function.name == "backward"
            for node in ast.walk(function)
            if isinstance(node, ast.Return) and node.value is not None
        ]
        if not ends:
            return None
        last, fixes, new = ends[-1], [], None
        if wanted > got:
            unread = _unread(source.function_of(last))
            more = unread if len(unread) == wanted - got else ["None"] * (wanted - got)
            new = ", ".join([source.segment(last.value), *more])
        elif isinstance(last.value, ast.Tuple):
            new = ", ".join(source.segment(e) for e in last.value.elts[:wanted])
        if new is not None:
            fixes = [source.fix(last.value, new, f"return {new}")]
        return raised.finding(
            "function-gradient-count",
            f"{owner.name}.backward returns {got} gradients for {wanted} inputs",
            (source.file, last.lineno),
            evidence=[f"forward has {wanted} arguments after ctx, backward gives {got}"],
            related=at.related("the backward that ran it"),
            fixes=fixes,
        )
    return None


def _unread(function: ast.FunctionDef) -> list[str]:
    """Names that a function binds and never reads: gradients that it forgot to return."""
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
    return list(dict.fromkeys(n.id for n in names if n.id not in read))


@explains(RuntimeError, r"hook '?.*'? has (changed the size of value|returned a tensor of)")
def hook(raised: Raised):
    """The hook that was registered on a tensor, its result brought to the gradient's shape."""
    at = raised.innermost
    found = upstream.calls(upstream.user_sources(raised), "register_hook")
    if len(found) != 1 or not found[0].node.args:
        return None
    spot = found[0]
    source, fixes, place = spot.source, [], spot.place
    body, parameter = _of_hook(source, spot.node.args[0])
    if body is not None:
        place = (source.file, body.lineno)
        new = f"({source.segment(body)}).expand_as({parameter})"
        fixes.append(source.fix(body, new))
    return raised.finding(
        "hook-changes-shape",
        "a hook returned a gradient of another shape",
        place,
        evidence=[raised.message.splitlines()[0]],
        related=at.related("the backward that ran it"),
        fixes=fixes,
    )


def _of_hook(source, given: ast.expr):
    """(what a hook returns, its parameter's name), of a lambda or a function of the file."""
    if isinstance(given, ast.Lambda) and given.args.args:
        return given.body, given.args.args[0].arg
    for node in ast.walk(source.tree) if isinstance(given, ast.Name) else ():
        if isinstance(node, ast.FunctionDef) and node.name == given.id and node.args.args:
            ends = [n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value]
            if ends:
                return ends[-1].value, node.args.args[0].arg
    return None, None
