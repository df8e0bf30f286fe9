"""What a language model's scores depend on: the tokens it was given, and a trial on a copy."""

from __future__ import annotations

import copy
import sys

import rushlight
from rushlight import _C
from rushlight.overrides import TorchFunctionMode

from .. import trial
from ..values import LEVELS
from .calls import site_of, user_frame
from .passes import CLASS_LOSSES
from .watch import is_forward

MOST = 256 << 20  # bytes of a model that is copied for a trial
NEAR = 1e-6


class Given:
    """Tokens that a model looks up now: the outermost module, its arguments, and who called it."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.module, self.arguments, self.site = None, {}, None
        frame, outermost = sys._getframe(1), None
        while frame is not None:
            outermost = frame if is_forward(frame) else outermost
            frame = frame.f_back
        if outermost is not None:
            self.arguments = arguments_of(outermost)
            self.module = self.arguments.pop("self")
            self.site = site_of(user_frame(outermost.f_back))


def arguments_of(frame) -> dict:
    """What a function that runs was given, by name; without the graphs of results."""
    code, held = frame.f_code, _C._locals(frame)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {n: _cut_off(held.get(n)) for n in names}


def _cut_off(value, level: int = 0):
    if isinstance(value, _C.TensorBase):
        return value.detach() if value.grad_fn is not None else value
    if level == LEVELS:
        return value
    if type(value) in (list, tuple):
        return type(value)(_cut_off(v, level + 1) for v in value)
    if type(value) is dict:
        return {k: _cut_off(v, level + 1) for k, v in value.items()}
    return value


def is_one(a, b) -> bool:
    """Whether a value is a tensor of the same elements in the same memory as another."""
    if not isinstance(a, _C.TensorBase) or a.device != b.device:
        return False
    return a.numel() == b.numel() and a.data_ptr() == b.data_ptr()


def tensors_of(result, level: int = 0) -> list:
    """The tensors of what a model returns: one, several, a dictionary, an object's attributes."""
    if isinstance(result, _C.TensorBase):
        return [result]
    if isinstance(result, (list, tuple)):
        return [t for one in result if level < LEVELS for t in tensors_of(one, level + 1)]
    inner = result if isinstance(result, dict) else getattr(result, "__dict__", {})
    return [v for v in inner.values() if isinstance(v, _C.TensorBase)]


def own_token_seen(given: Given, axis: int, start: int) -> str | None:
    """What a change of one token changes, on a copy of the model.

    None unless the scores of a position depend on its own token and on none that follows; time is
    dimension ``axis`` of the tokens, and scores of all positions but one begin at ``start``.
    """
    tokens, module = given.tokens, given.module
    if module is None or sum(p.nbytes for p in module.parameters()) > MOST:
        return None
    total, one = tokens.shape[axis], tokens.flatten()[0]
    at, others = total // 2, tokens[tokens != one]
    if not others.numel():
        return None
    changed = tokens.clone()
    column = changed.select(axis, at)
    column.copy_(rushlight.where(column == one, others[0], one))

    @rushlight.no_grad()
    def changes() -> list[bool]:
        twin = copy.deepcopy(module).eval()
        for part in twin.modules():
            part._forward_hooks.clear()
            part._forward_pre_hooks.clear()
        before, after = (_scores(twin, given, t, axis) for t in (tokens, changed))
        far = (before - after).abs().amax((0, 2)) > NEAR * before.abs().max()
        return far.tolist()

    far = trial.apart(changes, 2.0) or []
    reached = [i for i, is_far in enumerate(far) if is_far]
    first = at if len(far) == total else at - start
    writes = any(hasattr(module, name) for name in ("generate", "sample"))
    if reached[:1] != [first] or not (reached[-1] > first or writes):
        return None
    return (
        f"on a copy, another token at position {at} of {total} changes the scores from "
        f"there on ({len(reached)} of {total}): each sees its own token"
    )


class _Losses(TorchFunctionMode):
    """Keeps the scores that a model gives to a loss itself."""

    def __init__(self):
        super().__init__()
        self.scores = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") in CLASS_LOSSES and args:
            self.scores.append(args[0])
        return func(*args, **(kwargs or {}))


def _scores(model, given: Given, tokens, axis: int):
    """The scores for tokens, (rows, positions, classes)."""
    arguments = {n: _with(v, given.tokens, tokens) for n, v in given.arguments.items()}
    with _Losses() as losses:
        result = model(**arguments)
    rows, total = tokens.shape if axis else tokens.t().shape
    found = (_by_position(t, rows, total, axis) for t in (*tensors_of(result), *losses.scores))
    return next(t for t in found if t is not None)


def _with(value, old, new, level: int = 0):
    """An argument with other tokens in it."""
    if isinstance(value, dict) and level < LEVELS:
        return {k: _with(v, old, new, level + 1) for k, v in value.items()}
    return new if is_one(value, old) else value


def _by_position(scores, rows: int, total: int, axis: int):
    """Scores of all positions, or of all but one, as (rows, positions, classes)."""
    shape = tuple(scores.shape)
    for count in (total, total - 1) if scores.is_floating_point() else ():
        order = (rows, count) if axis else (count, rows)
        if len(shape) == 2 and shape[0] == rows * count:
            scores, shape = scores.reshape(*order, shape[1]), (*order, shape[1])
        if len(shape) == 3 and shape[:2] == order:
            return scores if axis else scores.transpose(0, 1)
        if len(shape) == 3 and (shape[0], shape[2]) == (rows, count):
            return scores.transpose(1, 2)
    return None
