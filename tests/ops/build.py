"""From specs to live tensors: any element type, layout and device, in any module."""

from __future__ import annotations

import math

from .spec import ALL, Call, Const, T, numbers

LAYOUTS = ("transposed", "step", "offset", "expanded")


def dense_strides(shape) -> list[int]:
    """Strides of a contiguous tensor; dimensions of size 0 count as 1, as in PyTorch."""
    strides, step = [0] * len(shape), 1
    for d in reversed(range(len(shape))):
        strides[d] = step
        step *= max(shape[d], 1)
    return strides


def strides_of(shape, layout: str) -> tuple[list[int], int]:
    """Strides and storage offset that a layout gives to a shape."""
    if layout == "transposed":
        return dense_strides(shape[::-1])[::-1], 0
    if layout == "step":
        return [2 * s for s in dense_strides(shape)], 1
    if layout == "offset":
        return dense_strides(shape), 3
    if layout == "expanded":
        return [0, *dense_strides(shape[1:])] if shape else [], 0
    if layout == "channels_last":
        order = [0, *range(2, len(shape)), 1]
        dense = dense_strides([shape[d] for d in order])
        return [dense[order.index(d)] for d in range(len(shape))], 0
    return dense_strides(shape), 0


def positions(shape, strides, offset: int) -> list[int]:
    """Storage position of every element, in row-major order."""
    found = [offset] if 0 not in shape else []
    for size, stride in zip(shape, strides, strict=True):
        found = [p + k * stride for p in found for k in range(size)]
    return found


class Builder:
    """Makes the tensors of one call, in order, and remembers them in `tensors`."""

    def __init__(self, torch, dtype, layout="", device="", requires_grad=False):
        self.torch, self.dtype, self.layout = torch, dtype, layout
        self.device, self.requires_grad = device, requires_grad
        self.tensors, self.specs = [], []

    def tensor(self, spec: T):
        dtype = spec.dtype or self.dtype
        layout = spec.layout or self.layout
        seed = len(self.tensors)
        made = self._place(spec, dtype, layout, numbers(spec, dtype, seed))
        if self.requires_grad and spec.grad and dtype in DIFFERENTIABLE:
            made.requires_grad_()
        self.tensors.append(made)
        self.specs.append(spec)
        return made

    def _place(self, spec, dtype, layout, flat):
        torch, element = self.torch, getattr(self.torch, dtype)
        shape = list(spec.shape)
        if layout.startswith("expanded") and shape and shape[0] > 1:
            row = math.prod(shape[1:])
            flat = flat[:row] * shape[0]
        strides, offset = strides_of(shape, "" if layout == "expanded_dense" else layout)
        if self.device == "meta":
            return torch.empty_strided(shape, strides, dtype=element, device="meta")
        where = positions(shape, strides, offset)
        buffer = flat[:1] * (max(where, default=-1) + 1)
        for place, number in zip(where, flat, strict=True):
            buffer[place] = number
        base = torch.tensor(buffer, dtype=element)
        if not layout or layout == "expanded_dense":
            return base if len(shape) == 1 else base.reshape(shape)
        return base.as_strided(shape, strides, offset)

    def value(self, arg):
        if isinstance(arg, T):
            return self.tensor(arg)
        if isinstance(arg, Const):
            return lookup(self.torch, arg.name or self.dtype)
        if isinstance(arg, (list, tuple)):
            return type(arg)(self.value(a) for a in arg)
        if isinstance(arg, slice):
            return slice(self.value(arg.start), self.value(arg.stop), self.value(arg.step))
        if isinstance(arg, dict):
            return {k: self.value(v) for k, v in arg.items()}
        return arg

    def arguments(self, call: Call):
        return [self.value(a) for a in call.args], {
            k: self.value(v) for k, v in call.kwargs.items()
        }


DIFFERENTIABLE = tuple(d for d in ALL if "float" in d or "complex" in d)


def lookup(torch, path: str):
    """The attribute of the module at a dotted path; raises AttributeError."""
    found = torch
    for part in path.split("."):
        found = getattr(found, part)
    return found


def resolve(torch, name: str):
    """The callable a row name stands for; `Tensor.x` calls the method x of the first argument."""
    if name.startswith("Tensor."):
        method = name.partition(".")[2]
        if not callable(getattr(torch.Tensor, method)):
            return lambda self: getattr(self, method)
        return lambda self, *args, **kwargs: getattr(self, method)(*args, **kwargs)
    if name.startswith("aten."):
        return native(torch, name[5:])
    return lookup(torch, name)


def native(torch, name: str):
    """An op below the public ones: torch.ops.aten.NAME, or that of the core's tables. Several
    results come as a plain tuple."""
    op = getattr(torch.ops.aten, name) if hasattr(torch, "ops") else core_op(torch._C, name)

    def call(*args, **kwargs):
        made = op(*args, **kwargs)
        return tuple(made) if isinstance(made, (list, tuple)) else made

    return call


def core_op(core, name: str):
    """An op of one of the core's tables; AttributeError where there is none."""
    for space in ("ops", "nn", "functions", "linalg", "special", "fft"):
        table = getattr(core, f"_{space}_table")
        for key in (name, name.removeprefix(f"{space}_")):
            if key in table:
                return table[key]
    raise AttributeError(f"the core has no op {name}")


def exists(torch, name: str) -> bool:
    try:
        resolve(torch, name)
    except (AttributeError, NotImplementedError):
        return False
    return True
