"""Custom functions (torch.autograd.Function) under vmap and forward mode."""

from __future__ import annotations

from collections import namedtuple

import rushlight as torch
from rushlight.utils import _pytree as pytree

from .. import _C
from ..autograd.function import Function, _SingleLevelFunction
from .mapping import level

__all__ = ["VmapInfo", "forward"]

VmapInfo = namedtuple("VmapInfo", ["batch_size", "randomness"])
VmapInfo.__doc__ = "What a vmap staticmethod hears of the mapped dimension."

_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class _Context:
    """A ctx of plain Python: what setup_context keeps, for one use."""

    def __init__(self, needs_input_grad=()):
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple = ()
        self.materialize_grads = True

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors):
        self.saved_tensors = tensors

    def set_materialize_grads(self, value):
        self.materialize_grads = value

    def mark_dirty(self, *tensors):
        """Nothing is changed here."""

    def mark_non_differentiable(self, *tensors):
        """The function's own ctx hears of it."""


def forward(cls, ctx, args: tuple, recording: bool):
    """What ``cls.forward`` returns, for arguments of a level of vmap or forward mode.

    ``recording``: whether gradients were recorded where the function was called.
    """
    number = _C._level_of(args)
    is_forward, size, randomness = _C._level_info(number)
    run = _push_forward if is_forward else _map
    with torch.set_grad_enabled(recording):
        return run(cls, ctx, args, number, size, randomness)


def _parts(args: tuple, number: int) -> list:
    """For each argument, what _unwrap tells, or the argument itself for other levels."""
    return [
        (_C._unwrap(x, number) if isinstance(x, torch.Tensor) else None) or (x, False, None)
        for x in args
    ]


# ---- vmap


def _map(cls, ctx, args, number: int, size: int, randomness: str):
    own = cls.vmap is not Function.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and "
            "an overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
            f"overridden vmap staticmethod to avoid ambiguity. {_MORE}"
        )
    if not own and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
            "override and implement the vmap staticmethod or set generate_vmap_rule=True. "
            f"{_MORE}"
        )
    parts = _parts(args, number)
    values = tuple(p[0] for p in parts)
    dims = tuple(0 if p[1] else None for p in parts)
    if own:
        found = _C._call_below(
            number, cls.vmap, (VmapInfo(size, randomness), dims, *values)
        )
        if not (isinstance(found, tuple) and len(found) == 2):
            raise RuntimeError(
                "Expected the vmap staticmethod to have two returns, an output and out_dims with "
                f"pytree structure compatible with the output. Got a {type(found)} instead"
            )
        output, out_dims = found
        leaves, spec = pytree.tree_flatten(output)
        places = pytree._broadcast_to_and_flatten(out_dims, spec, is_leaf=lambda x: x is None)
        if places is None:
            raise RuntimeError(
                "Expected the vmap staticmethod to return out_dims compatible with the output"
            )
    else:
        apply = _mapped_class(cls, dims, size, randomness).apply
        leaves, spec = pytree.tree_flatten(_C._call_below(number, apply, values))
        places = [0] * len(leaves)
    wrapped = [
        x
        if d is None or not isinstance(x, torch.Tensor)
        else _C._wrap_batched(x if d == 0 else _C._call_below(number, x.movedim, (d, 0)), number)
        for x, d in zip(leaves, places, strict=True)
    ]
    return pytree.tree_unflatten(wrapped, spec)


def _mapped_class(cls, dims: tuple, size: int, randomness: str):
    """The custom function over a whole dimension: its steps run with that dimension mapped."""

    def wrap(x, d, number):
        return x if d is None else _C._wrap_batched(x, number)

    def whole(x, number):
        below = _C._unwrap(x, number)
        if below is None or not below[1]:
            value = x if below is None else below[0]
            return value.expand(size, *value.shape)
        return below[0]

    class Mapped(_SingleLevelFunction):
        @staticmethod
        def forward(*args):
            with level(_C._enter_vmap, size, randomness) as number:
                inputs = [wrap(x, d, number) for x, d in zip(args, dims, strict=True)]
                output = cls.forward(*inputs)
                return pytree.tree_map(lambda x: whole(x, number), output)

        @staticmethod
        def setup_context(ctx, inputs, output):
            outputs = output if isinstance(output, tuple) else (output,)
            tensors = [x for x in inputs if isinstance(x, torch.Tensor)]
            ctx.save_for_backward(*tensors, *outputs)
            ctx.others = [None if isinstance(x, torch.Tensor) else (x,) for x in inputs]
            ctx.single = not isinstance(output, tuple)

        @staticmethod
        def backward(ctx, *grads):
            saved = list(ctx.saved_tensors)
            args = [saved.pop(0) if o is None else o[0] for o in ctx.others]
            with level(_C._enter_vmap, size, randomness) as number:
                inputs = tuple(wrap(x, d, number) for x, d in zip(args, dims, strict=True))
                outputs = tuple(_C._wrap_batched(x, number) for x in saved)
                inner = _Context(ctx.needs_input_grad)
                cls.setup_context(inner, inputs, outputs[0] if ctx.single else outputs)
                given = [None if g is None else _C._wrap_batched(g, number) for g in grads]
                found = cls._backward_function(inner, *given)
                found = found if isinstance(found, tuple) else (found,)
                result = []
                for g, x, d in zip(found, args, dims, strict=True):
                    if g is None or not isinstance(x, torch.Tensor):
                        result.append(None)
                        continue
                    g = whole(g, number)
                    result.append(g.sum(0) if d is None else g)
            return tuple(result)

    Mapped.__name__ = f"Vmapped{cls.__name__}"
    return Mapped


# ---- Forward mode


def _push_forward(cls, ctx, args, number: int, size: int, randomness: str):
    parts = _parts(args, number)
    primals = tuple(p[0] for p in parts)
    moves = [
        _zeros_for(p[0]) if p[2] is None else p[2] for p in parts
    ]
    if cls._has_setup_context:
        output = _C._call_below(number, cls.apply, primals)
        ctx = _Context(tuple(isinstance(x, torch.Tensor) for x in primals))
        cls.setup_context(ctx, primals, output)
    else:
        with torch.no_grad():
            output = _C._call_below(number, cls.forward, (ctx, *primals))
        _keep_duals(ctx, primals, args)
    found = _C._call_below(number, cls.jvp, (ctx, *moves))
    outputs = output if isinstance(output, tuple) else (output,)
    tangents = found if isinstance(found, tuple) else (found,)
    if len(outputs) != len(tangents):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{len(outputs)} but got {len(tangents)})"
        )
    duals = tuple(
        _C._wrap_dual(x, t, number) if isinstance(x, torch.Tensor) else x
        for x, t in zip(outputs, tangents, strict=True)
    )
    return duals if isinstance(output, tuple) else duals[0]


def _zeros_for(x):
    if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex()):
        return torch.zeros_like(x)
    return None


def _keep_duals(ctx, primals: tuple, args: tuple) -> None:
    """What forward saved for backward keeps its tangent."""
    if ctx.to_save is None:
        return
    of = {id(p): a for p, a in zip(primals, args, strict=True)}
    ctx.to_save = tuple(of.get(id(x), x) for x in ctx.to_save)
