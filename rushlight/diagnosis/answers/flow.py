"""Where values flow while a function runs: which parameters reach which results, and the cuts."""

from __future__ import annotations

from dataclasses import dataclass, field

import rushlight
from rushlight import _C
from rushlight.overrides import TorchFunctionMode

from ..doctor import places
from ..doctor.calls import Site, is_user, running_module, site_of

LEAVING = frozenset("item tolist numpy __float__ __int__ __bool__ __array__ __index__".split())
COPYING = frozenset("tensor as_tensor from_numpy asarray".split())
ACTIVATIONS = frozenset(
    "relu relu_ sigmoid tanh hardtanh clamp clamp_min clamp_max relu6 hardsigmoid hardswish "
    "softplus threshold sigmoid_ tanh_ elu selu leaky_relu".split()
)
MOST_FRAMES = 8


@dataclass(eq=False)
class Value:
    """A tensor at one time. Bits of ``flow``: parameters that it was computed from;
    of ``grad``: those that a gradient of it would reach."""

    flow: int = 0
    grad: int = 0
    step: Step | None = None
    has_gradient: bool | None = None  # whether backward gave one that is not all zero


@dataclass(eq=False)
class Step:
    """One op that ran: its place, what went in and came out, and what it cut off."""

    name: str
    site: Site
    ins: list[Value]
    outs: list[Value] = field(default_factory=list)
    module: object = None
    reason: str = ""  # why bits were lost
    lost: int = 0
    region: tuple | None = None  # (Source, the with or decorator) that switched gradients off
    numbers: str = ""  # what an activation did with its values
    is_off: bool = False

    @property
    def place(self) -> tuple[str, int]:
        return self.site.file, self.site.line

    @property
    def text(self) -> str:
        """The statement's first line."""
        statement = self.site.statement
        return self.site.source.segment(statement).split("\n")[0] if statement is not None else ""


class Flow(TorchFunctionMode):
    """Follows parameters through all ops. ``uncut``: what is to be run without its cut."""

    def __init__(self, parameters: list, uncut: frozenset = frozenset()):
        super().__init__()
        self.bits = {id(p): 1 << i for i, p in enumerate(parameters)}
        self.kept = list(parameters)  # nothing may be freed: ids and addresses stay those of one
        self.values: dict[int, Value] = {}
        self.on_storage: dict[int, list] = {}
        self.steps: list[Step] = []
        self.leaving: list[Step] = []
        self.uncut = uncut
        for p in parameters:
            bit = self.bits[id(p)]
            self._set(p, Value(bit, bit if p.requires_grad else 0))

    def value(self, tensor) -> Value:
        """What is known of a tensor now."""
        known = self.values.get(id(tensor))
        if known is None:
            known = self._met(tensor)
            self._set(tensor, known)
        if tensor.requires_grad and known.flow & ~known.grad and known.step is not None:
            self._joined(known)
        return known

    def _met(self, tensor) -> Value:
        """A tensor that no op made: on memory that is known, its values came by way of numpy."""
        others = self.on_storage.get(_address(tensor))
        before = self.values[id(others[-1])] if others else None
        found = _user_sites() if before is not None and before.flow else None
        if not found:
            return Value()
        step = Step("numpy", found[0], [before], lost=before.grad)
        step.reason = "numpy keeps no history"
        value = Value(before.flow, before.grad if tensor.requires_grad else 0, step)
        step.outs = [value]
        self.steps.append(step)
        return value

    def _joined(self, value: Value) -> None:
        """A custom function gave its result a graph after the ops inside had run without one."""
        value.grad = value.flow
        if value in value.step.outs:
            value.step.lost, value.step.reason = 0, ""

    def _set(self, tensor, value: Value) -> None:
        self.values[id(tensor)] = value
        self.kept.append(tensor)
        where = _address(tensor)
        if where:
            self.on_storage.setdefault(where, []).append(tensor)

    # ---- Listening

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            if name not in ("data", "T", "mT", "H", "mH", "real", "imag"):
                return func(*args, **kwargs)
        if name in ("__set__", "backward", "register_hook"):
            return None if name == "backward" else func(*args, **kwargs)
        found = _user_sites()
        if not found:
            return func(*args, **kwargs)
        ins = [self.value(t) for t in _tensors([args, kwargs])]
        is_off = not rushlight.is_grad_enabled()
        region = _region(found) if is_off else None
        if self.uncut:
            result = self._without_cut(func, name, args, kwargs, found[0], region)
        else:
            result = func(*args, **kwargs)
        step = Step(name, found[0], ins, is_off=is_off, region=region)
        self._after(step, args, kwargs, result)
        return result

    def _without_cut(self, func, name, args, kwargs, site: Site, region):
        if name in ("detach", "data") and key_of_site(site) in self.uncut:
            return args[0]
        if region is not None and key_of_region(region) in self.uncut:
            with rushlight.enable_grad():
                return func(*args, **kwargs)
        return func(*args, **kwargs)

    def _after(self, step: Step, args, kwargs, result) -> None:
        step.module = running_module(3)
        name = step.name
        written = _written(name, args, kwargs)
        outs = [written] if written is not None else _tensors([result])
        flow = grad = 0
        for value in step.ins:
            flow |= value.flow
            grad |= value.grad
        if not outs:
            if flow and name in LEAVING:
                step.lost = flow
                self.leaving.append(step)
            return
        if not flow and not step.ins:
            return
        step.outs = [Value(flow, grad if t.requires_grad else 0, step) for t in outs]
        if grad and not any(t.requires_grad for t in outs):
            step.lost, step.reason = grad, _reason(step, outs[0])
        if name in ACTIVATIONS and args and isinstance(args[0], _C.TensorBase):
            step.numbers = _numbers(name, args[0], outs[0]) if written is None else ""
        self.steps.append(step)
        for tensor, value in zip(outs, step.outs, strict=True):
            self._enter(tensor, value, written is not None)

    def _enter(self, tensor, value: Value, is_change: bool) -> None:
        if is_change:  # all that see this memory have new values
            for other in self.on_storage.get(_address(tensor), ()):
                if other is not tensor:
                    before = self.values[id(other)]
                    grad = before.grad | value.grad if other.requires_grad else 0
                    self.values[id(other)] = Value(before.flow | value.flow, grad, value.step)
        self._set(tensor, value)
        if tensor.requires_grad and tensor.grad_fn is not None:
            tensor.register_hook(_noting(value))

    # ---- Afterwards

    def leading_to(self, value: Value) -> list[Step]:
        """The steps whose results a value was computed from, in order."""
        seen, todo = set(), [value]
        while todo:
            step = todo.pop().step
            if step is not None and step not in seen:
                seen.add(step)
                todo += step.ins
        return [s for s in self.steps if s in seen]

    def cuts(self, steps: list[Step], bit: int) -> list[Step]:
        """Those of the steps that cut a parameter off."""
        return [s for s in steps if s.lost & bit]

    def last_of(self, bit: int) -> Step | None:
        """The last step that a parameter's values went into."""
        return next((s for s in reversed(self.steps) if any(v.flow & bit for v in s.ins)), None)

    def where_it_vanishes(self, steps: list[Step], bit: int) -> Step | None:
        """The op that got a gradient with values and handed on one that is all zero."""
        for step in reversed(steps):
            reached = [v for v in step.ins if v.grad & bit]
            if not reached or not any(v.has_gradient for v in step.outs):
                continue
            if all(v.step is None or v.has_gradient is False for v in reached):
                return step
        return None


def _noting(value: Value):
    def note(gradient):
        value.has_gradient = bool(value.has_gradient) or bool((gradient != 0).any())

    return note


def key_of_site(site: Site) -> tuple:
    return (site.file, site.line)


def key_of_region(region: tuple) -> tuple:
    return (region[0].file, "region", region[1].lineno)


def _user_sites() -> list[Site]:
    import sys

    frame, found = sys._getframe(2), []
    while frame is not None and len(found) < MOST_FRAMES:
        if is_user(frame.f_code):
            found.append(site_of(frame))
        frame = frame.f_back
    return found


def _region(found: list[Site]) -> tuple | None:
    """The with statement or decorator that switched gradients off around what runs."""
    for site in found:
        if site.node is not None:
            around = places.no_grad_around(site.source, site.node)
            if around is not None:
                return site.source, around
    return None


def _tensors(values, depth: int = 0) -> list:
    found = []
    for value in values:
        if isinstance(value, _C.TensorBase):
            found.append(value)
        elif isinstance(value, (list, tuple)) and depth < 4:
            found += _tensors(value, depth + 1)
        elif isinstance(value, dict) and depth < 4:
            found += _tensors(value.values(), depth + 1)
    return found


def _written(name: str, args, kwargs):
    """The tensor that a call changes, or None."""
    if isinstance(kwargs.get("out"), _C.TensorBase):
        return kwargs["out"]
    changes = name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
    changes |= name.startswith("__i") and name not in ("__int__", "__index__", "__invert__")
    if changes and args and isinstance(args[0], _C.TensorBase):
        return args[0]
    return None


def _address(tensor) -> int:
    if tensor.device.type != "cpu":
        return 0
    return tensor.untyped_storage().data_ptr()


def _reason(step: Step, result) -> str:
    name = step.name
    if name in ("detach", "detach_"):
        return "detach"
    if name == "data":
        return ".data"
    if name in COPYING:
        return f"{name} copies values, not the graph"
    if not (result.is_floating_point() or result.is_complex()):
        return f"{name} gives {str(result.dtype).removeprefix('torch.')}, which has no gradient"
    if step.is_off:
        if rushlight.is_inference_mode_enabled():
            return "under inference_mode"
        return "under no_grad"
    return f"{name} has no gradient"


def _numbers(name: str, before, after) -> str:
    """How many values of an activation lie where its slope is 0."""
    total = after.numel()
    if not total or before.device.type != "cpu":
        return ""
    flat, out, name = before.detach(), after.detach(), name.rstrip("_")
    inputs = f"its inputs lie in {float(flat.min()):.4g} ... {float(flat.max()):.4g}"
    if name in ("relu", "relu6"):
        return f"{name} gave 0 for {int((out <= 0).sum())} of {total} values; {inputs}"
    edge = {"sigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0)}.get(name)
    if edge is None:
        return f"{name}: {inputs}"
    still = int((out.eq(edge[0]) | out.eq(edge[1])).sum())
    return f"{name} gave {edge[0]:g} or {edge[1]:g} for {still} of {total} values; {inputs}"
