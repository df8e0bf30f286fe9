"""The names under which the user's program holds tensors, modules and what they lie in."""

from __future__ import annotations

import gc
import sys
import types
from collections import deque
from dataclasses import dataclass

from rushlight import _C, nn

from .. import frames

MOST_ITEMS = 1000
MOST_DEPTH = 3
_PLAIN = ("rushlight", "torch", "builtins", "numpy", "types", "_frozen_importlib")


@dataclass(frozen=True, slots=True)
class Held:
    """One way to an object: ``model.fc.weight``, and what holds it: "a global", "a local of f"."""

    name: str
    role: str
    value: object


def user_frames(depth: int = 1) -> list:
    """The frames of the user's that run now, innermost first."""
    frame, found = sys._getframe(depth), []
    while frame is not None:
        file = frame.f_code.co_filename
        is_typed = file.startswith("<") and not file.startswith("<frozen")  # in a session
        if is_typed or frames.is_user_code(frame.f_code):
            found.append(frame)
        frame = frame.f_back
    return found


class Names:
    """All tensors, arrays and modules that can be reached from frames by name, nearest first."""

    def __init__(self, running: list):
        self.tensors: list[Held] = []
        self.arrays: list[Held] = []
        self.modules: list[Held] = []
        self.others: list[Held] = []
        self.containers: set[int] = set()
        self._of: dict[int, list[Held]] = {}
        self._seen: set[int] = set()
        for frame in running:
            self._room(frame)

    def of(self, value) -> list[Held]:
        """The ways to an object."""
        return [h for h in self._of.get(id(value), ()) if h.value is value]

    def name(self, value) -> str | None:
        """The nearest name of an object."""
        ways = self.of(value)
        return ways[0].name if ways else None

    def sharing(self, tensor) -> list[Held]:
        """Other named tensors on the storage of one."""
        where = tensor.untyped_storage().data_ptr()
        return [
            h
            for h in self.tensors
            if h.value is not tensor and where and h.value.untyped_storage().data_ptr() == where
        ]

    def arrays_on(self, tensor) -> list[Held]:
        """Named numpy arrays that see the memory of a tensor."""
        storage = tensor.untyped_storage()
        first, last = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
        return [h for h in self.arrays if first <= h.value.__array_interface__["data"][0] < last]

    # ---- Walking

    def _room(self, frame) -> None:
        held = _C._locals(frame)
        if held is not frame.f_globals:
            role = f"a local of {frame.f_code.co_name}"
            for name, value in held.items():
                self._meet(name, role, value, 0)
        self.containers.add(id(frame.f_globals))
        if id(frame.f_globals) in self._seen:
            return
        self._seen.add(id(frame.f_globals))
        for name, value in list(frame.f_globals.items()):
            if not name.startswith("__"):
                self._meet(name, "a global", value, 0)

    def _meet(self, name: str, role: str, value, depth: int) -> None:
        if isinstance(value, _C.TensorBase):
            self._tensor(name, role, value)
        elif isinstance(value, nn.Module):
            self._module(name, role, value)
        elif depth < MOST_DEPTH and isinstance(value, (list, tuple, deque, set, frozenset, dict)):
            self._container(name, value, depth)
        elif type(value).__module__ == "numpy" and hasattr(value, "__array_interface__"):
            self._enter(self.arrays, Held(name, role, value))
        elif isinstance(value, types.FunctionType):
            self._closure(name, value, depth)
        elif depth < MOST_DEPTH and not isinstance(value, (type, types.ModuleType)):
            self._object(name, role, value, depth)

    def _enter(self, room: list, held: Held) -> bool:
        """Notes a way to an object; whether it is the first."""
        ways = self._of.setdefault(id(held.value), [])
        if any(w.name == held.name for w in ways):
            return False
        ways.append(held)
        room.append(held)
        return len(ways) == 1

    def _tensor(self, name: str, role: str, value) -> None:
        self._enter(self.tensors, Held(name, role, value))
        if value.is_leaf and value.grad is not None:
            self._enter(self.tensors, Held(f"{name}.grad", f"the gradient of {name}", value.grad))

    def _module(self, name: str, role: str, value) -> None:
        if not self._enter(self.modules, Held(name, role, value)):
            return
        for path, module in value.named_modules():
            here = f"{name}.{path}" if path else name
            if path:
                self._enter(self.modules, Held(here, "a submodule", module))
            for table, what in (("_parameters", "a parameter"), ("_buffers", "a buffer")):
                entries = vars(module).get(table, {})
                self.containers.add(id(entries))
                for key, tensor in entries.items():
                    if tensor is not None:
                        self._tensor(f"{here}.{key}", f"{what} of {here}", tensor)
            for key, inner in list(vars(module).items()):
                if not key.startswith("_"):
                    self._meet(f"{here}.{key}", f"an attribute of {here}", inner, 1)

    def _container(self, name: str, value, depth: int) -> None:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        self.containers.add(id(value))
        kind = type(value).__name__
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for count, (key, inner) in enumerate(pairs):
            if count >= MOST_ITEMS:
                break
            self._meet(f"{name}[{key!r}]", f"in the {kind} {name}", inner, depth + 1)

    def _closure(self, name: str, function, depth: int) -> None:
        if not frames.is_user_code(function.__code__) or id(function) in self._seen:
            return
        self._seen.add(id(function))
        for key, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self.containers.add(id(cell))
            try:
                inner = cell.cell_contents
            except ValueError:
                continue
            self._meet(key, f"in the closure of {name}", inner, depth + 1)

    def _object(self, name: str, role: str, value, depth: int) -> None:
        kind = type(value)
        is_optimizer = hasattr(value, "param_groups")
        if kind.__module__.split(".")[0] in _PLAIN and not is_optimizer:
            return
        try:
            room = vars(value)
        except TypeError:
            return
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        self.containers |= {id(value), id(room)}
        self._enter(self.others, Held(name, role, value))
        if is_optimizer:
            return  # it holds parameters of models, and state of its own
        for key, inner in list(room.items()):
            self._meet(f"{name}.{key}", f"an attribute of {name}", inner, depth + 1)


def unnamed_holders(value, names: Names) -> list[str]:
    """What else refers to an object, as the garbage collector tells: containers without a name."""
    found = []
    for holder in gc.get_referrers(value):
        if id(holder) in names.containers or isinstance(
            holder, (types.FrameType, types.ModuleType, Held, Names)
        ):
            continue
        if isinstance(holder, dict):
            text = _of_dict(holder, value)
        elif isinstance(holder, (list, tuple, deque, set)):
            text = f"a {type(holder).__name__} of {len(holder)} without a name"
        elif isinstance(holder, types.CellType):
            text = "the closure of a function"
        else:
            text = f"an object of {type(holder).__name__}"
        if text is not None and text not in found:
            found.append(text)
    return found


def _of_dict(holder: dict, value) -> str | None:
    key = next((k for k, v in holder.items() if v is value), None)
    for owner in gc.get_referrers(holder):
        if getattr(owner, "__dict__", None) is holder:
            if isinstance(owner, types.ModuleType):
                return f"{key}, a global of {owner.__name__}"
            return f"attribute {key} of a {type(owner).__name__} object"
        if isinstance(owner, type) and vars(owner).get(key) is value:
            return f"attribute {key} of class {owner.__name__}"
    return f"a dict under {key!r}"
