"""Errors of GradScaler: no update between steps, a step without a scaled loss."""

from __future__ import annotations

import ast

from .. import frames, upstream
from ..finding import Fix, Related
from ..registry import explains, kind
from . import Raised

kind(
    "scaler-not-updated",
    "GradScaler.update() is missing between two steps",
    """
update() ends a step of GradScaler: it adapts the scale and forgets which optimizers were looked at.
Call scaler.update() once per step, after scaler.step() of all optimizers.
""",
)
kind(
    "scaler-without-scale",
    "GradScaler steps with gradients that were never multiplied by its scale",
    """
scaler.step divides the gradients by the scale before the optimizer sees them. The loss has to be
multiplied first: scaler.scale(loss).backward(). Without that there is nothing to divide.
""",
)


def _scaler(raised: Raised) -> str | None:
    """The object whose method failed, as it is written."""
    holder = frames.receiver(raised.innermost.node)
    return ast.unparse(holder) if holder is not None else None


def _is_named(holder, name: str) -> bool:
    return holder is not None and ast.unparse(holder) == name


def _method_calls(raised: Raised, name: str) -> list:
    """Where the program's files call a method of that name."""
    found = upstream.calls(upstream.user_sources(raised), name)
    return [spot for spot in found if isinstance(spot.node.func, ast.Attribute)]


@explains(
    RuntimeError,
    r"(step|unscale_)\(\) (has already been called (on this optimizer )?since"
    r"|is being called after step\(\))",
)
def not_updated(raised: Raised):
    """The step of the turn before was not followed by update()."""
    at = raised.innermost
    call, statement, scaler = at.node, at.statement, _scaler(raised)
    if scaler is None:
        return None
    again = _unscaled_before(at, scaler) if raised.match[1] == "unscale_" else None
    if again is not None:
        return raised.finding(
            "scaler-not-updated",
            f"{scaler}.unscale_ divides the gradients that line {again.lineno} has divided",
            evidence=[f"2 calls of {scaler}.unscale_, 0 of {scaler}.step between them"],
            related=[Related(at.file, again.lineno, "divided them first")],
            fixes=[Fix("without the second unscale_", [at.source.remove(statement)])],
        )
    steps = [
        node
        for node in ast.walk(at.source.function_of(call) or at.source.tree)
        if frames.called(node) == "step" and _is_named(frames.receiver(node), scaler)
    ]
    last = at.source.statement_of(steps[-1]) if steps else statement
    fix = Fix(f"{scaler}.update() after it", [at.source.insert_after(last, f"{scaler}.update()")])
    related = at.related("the call that failed")
    return raised.finding(
        "scaler-not-updated",
        f"{scaler}.update() is missing after the step",
        (at.file, last.lineno),
        evidence=[f"{len(steps)} calls of {scaler}.step here, 0 of {scaler}.update() ran since"],
        related=related,
        fixes=[fix],
    )


def _unscaled_before(at, scaler: str):
    """A call of unscale_ in the same block before this one, with no step between them."""
    block = getattr(at.statement.parent, "body", [])
    before = block[: block.index(at.statement)] if at.statement in block else []
    for statement in reversed(before):
        for node in ast.walk(statement):
            if upstream.called(node) in ("step", "update"):
                return None
            if frames.called(node) == "unscale_" and _is_named(frames.receiver(node), scaler):
                return node
    return None


@explains(AssertionError, r"Attempted (step|unscale_|update) but _scale is None")
def not_scaled(raised: Raised):
    """backward() of a loss that the scaler never saw."""
    at, scaler = raised.innermost, _scaler(raised)
    if scaler is None:
        return None
    found = _method_calls(raised, "backward")
    near = [s for s in found if s.file == at.file and s.line < at.line] or found
    if not near:
        return None
    spot = max(near, key=lambda s: s.line)
    loss = spot.node.func.value
    text = f"{scaler}.scale({spot.source.segment(loss)})"
    return raised.finding(
        "scaler-without-scale",
        f"{scaler} steps, and no loss was multiplied by its scale",
        spot.place,
        evidence=[f"{spot.text}: 0 calls of {scaler}.scale ran before the step"],
        related=at.related("the step that divides by the scale"),
        fixes=[spot.source.fix(loss, text, f"{text}.backward()")],
    )


kind(
    "scaler-passed-by",
    "The optimizer steps with gradients that are still multiplied by the loss scale",
    """
After scaler.scale(loss).backward() the gradients are tens of thousands of times too large.
scaler.step(optimizer) divides them, leaves the step out where one is infinite, and lets update()
adapt the scale. optimizer.step() does none of it.
""",
)


@explains(AssertionError, r"No inf checks were recorded prior to update")
def passed_by(raised: Raised):
    """The optimizer's own step, where scaler.step was meant."""
    at, scaler = raised.innermost, _scaler(raised)
    if scaler is None:
        return None
    found = [
        spot
        for spot in _method_calls(raised, "step")
        if not spot.node.args
        and any(w in ast.unparse(spot.node.func.value).lower() for w in ("opt", "adam", "sgd"))
    ]
    if not found:
        return None
    spot = min(found, key=lambda s: (s.file != at.file, abs(s.line - at.line)))
    text = f"{scaler}.step({spot.source.segment(spot.node.func.value)})"
    return raised.finding(
        "scaler-passed-by",
        f"{spot.text} steps past the scaler",
        spot.place,
        evidence=[f"0 calls of {scaler}.step ran before {scaler}.update()"],
        related=at.related("the update that had nothing to go by"),
        fixes=[spot.fix(text)],
    )
