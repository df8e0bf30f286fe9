"""`rushlight.explain(x)`: what a tensor, a module or an optimizer is, and who holds it."""

from __future__ import annotations

import ast

from rushlight import _C, nn

from ..source import Source
from .answer import Answer
from .names import Names, user_frames


def explain(value) -> Answer:
    """Tells what an object is: text of at most 80 columns, with attributes for programs.

    Args:
        value: a tensor (storage, view of what, contiguous or not and why, the graph on it, the
            bytes of saved values it keeps alive, who holds it), a module (parameters, bytes, modes,
            where it was built) or an optimizer (what it holds of which model, its state's bytes).

    Raises:
        TypeError: for anything else.

    Nothing is run or changed; names come from the frames that are running.
    """
    running = user_frames(2)
    name = _as_written(running)
    if isinstance(value, _C.TensorBase):
        from .tensor import of_tensor

        return of_tensor(value, name, Names(running))
    if isinstance(value, nn.Module):
        from .modules import of_module

        return of_module(value, name, Names(running))
    if hasattr(value, "param_groups"):
        from .modules import of_optimizer

        return of_optimizer(value, name, Names(running))
    raise TypeError(
        f"explain() takes a tensor, a module or an optimizer, not {type(value).__name__}"
    )


def _as_written(running: list) -> str | None:
    """The argument of the call that runs now, as its line says it, where it is short."""
    frame = running[0] if running else None
    source = Source.of(frame.f_code.co_filename) if frame is not None else None
    positions = list(frame.f_code.co_positions()) if source is not None else []
    at = frame.f_lasti // 2 if frame is not None else 0
    if at >= len(positions) or None in positions[at]:
        return None
    node = source.node_at(*positions[at])
    if isinstance(node, ast.Call) and node.args:
        text = source.segment(node.args[0])
        return text if len(text) <= 30 and "\n" not in text else None
    return None
