"""What a program computes, op by op: each call with its place, and what its operands came from."""

from __future__ import annotations

import sys
import weakref
from functools import cached_property
from time import perf_counter

from rushlight import _C, overrides
from rushlight._C import TensorBase

from .. import frames
from ..interrupts import is_interrupt
from ..source import Source

# Ops that hand values on in another form: what a tensor "is" stays what it was before them.
PASSING = frozenset(
    "view reshape flatten squeeze unsqueeze transpose t permute contiguous clone __getitem__ to "
    "float double half bfloat16 detach expand view_as reshape_as movedim swapaxes alias".split()
)


QUICK = 2e-6  # seconds that a call costs that is only passed through


class Site:
    """One call's place in the user's program; equal places are one object."""

    def __init__(self, code, instruction: int):
        self.code, self.instruction = code, instruction
        self.file, self.function = code.co_filename, code.co_name
        self.count = 0

    @cached_property
    def position(self) -> tuple:
        """(line, end line, column, end column)."""
        positions = list(self.code.co_positions())
        at = positions[self.instruction // 2] if positions else (None,)  # code made without lines
        return at if None not in at else (at[0] or self.code.co_firstlineno,) * 2 + (0, 0)

    @property
    def line(self) -> int:
        return self.position[0]

    @cached_property
    def source(self) -> Source | None:
        return Source.of(self.file)

    @cached_property
    def node(self):
        """The syntax tree's node of the call, or None."""
        return self.source.node_at(*self.position) if self.source else None

    @property
    def statement(self):
        if self.source is None:
            return None
        if self.node is None:
            return self.source.statement(self.line)
        return self.source.statement_of(self.node)


_sites: dict[tuple, Site] = {}
_users: dict[int, tuple] = {}  # by address of a code object, which hashes slowly


def is_user(code) -> bool:
    """Whether a code object comes from the user's program."""
    known = _users.get(id(code))
    if known is None:
        known = _users[id(code)] = (frames.is_user_code(code), code)
    return known[0]


def frame_here(depth: int = 1):
    """The innermost frame of the user's, or None."""
    return user_frame(sys._getframe(depth))


def user_frame(frame):
    """A frame if it is the user's, or else the one that led to it; None if there is none."""
    while frame is not None and not is_user(frame.f_code):
        frame = frame.f_back
    return frame


def site_of(frame) -> Site | None:
    """The place where a frame is now."""
    if frame is None:
        return None
    key = (id(frame.f_code), frame.f_lasti)
    site = _sites.get(key)
    if site is None:
        site = _sites[key] = Site(frame.f_code, frame.f_lasti)
    return site


_here: list = []  # the place of the event that is being told, once somebody has asked


def here() -> Site | None:
    """The user's place at the event that is being told; looked up once."""
    if not _here:
        _here.append(site_of(frame_here(2)))
    return _here[0]


def forget_here() -> None:
    """An event begins: its place is another one."""
    _here.clear()


def running_module(depth: int = 1):
    """The module whose forward runs now within the package (an nn.Softmax, say), or None."""
    frame = sys._getframe(depth)
    while frame is not None and not is_user(frame.f_code):
        if frame.f_code.co_name == "forward" and "self" in (held := _C._locals(frame)):
            return held["self"]
        frame = frame.f_back
    return None


def _is_leaf(tensor) -> bool:
    """Whether a tensor is a leaf; a subclass of the program's is not told of the question."""
    overriding = _C._set_subclass_overrides(False)
    try:
        return tensor.is_leaf
    finally:
        _C._set_subclass_overrides(overriding)


class Made:
    """How a tensor came to be: the op, its site, its module, and what that got its values from.

    ``number`` counts the ops of the program: of two, the one with the larger came later.
    """

    __slots__ = ("module", "name", "number", "other", "passed", "site", "source")

    def __init__(self, name, site, source=None, module=None, number=0):
        self.name, self.site, self.source, self.module = name, site, source, module
        self.number = number
        self.passed, self.other = (), None

    @property
    def root(self) -> Made:
        """The op behind changes of form."""
        return self.source if self.name in PASSING and self.source is not None else self


class Calls(overrides.TorchFunctionMode):
    """Tells ``watch`` of each op: ("op", Op)."""

    def __init__(self, watch):
        super().__init__()
        self._watch = watch
        self._made: dict[int, tuple] = {}
        self._most = 4000  # entries before those of tensors that are gone are dropped
        self.spent = 0.0  # seconds
        self.inside = False
        self.on = False
        self.seen = 0
        self.names: dict[str, int] = {}

    def push(self) -> None:
        """Hears ops; modes that the program is in meanwhile stay inside."""
        if not self.on:
            overrides._enter_outermost(self)
            self.on = True

    def pop(self) -> None:
        if self.on and overrides._leave_wherever(self):
            self.on = False

    def made(self, tensor) -> Made | None:
        """What is known of a tensor's making."""
        found = self._made.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def _hear(self, func, args, kwargs, result) -> None:
        name = getattr(func, "__name__", "")
        if name == "__get__":  # of properties only .data matters
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            if name == "grad" and result is None and not self.inside and not _is_leaf(args[0]):
                self._watch.tell("grad_of_result", args[0])
            if name != "data":
                self.spent += QUICK
                return
        if self.inside or name == "__set__" or _C._count_transforms(0):
            self.spent += QUICK
            return
        began = perf_counter()
        self.inside = True
        try:
            self._see(name, args, kwargs, result)
        except RecursionError:  # the program is at its own limit
            pass
        except Exception as error:
            self._watch.failed(error)
            if is_interrupt(error):
                raise
        finally:
            self.inside = False
            self.spent += perf_counter() - began + QUICK

    def _see(self, name, args, kwargs, result) -> None:
        frame = frame_here(3)
        if frame is None:
            return
        site = site_of(frame)
        site.count += 1
        self.seen += 1
        self.names[name] = self.names.get(name, 0) + 1
        source = self.made(args[0]) if args else None
        root = source.root if source is not None and name in PASSING else None
        made = Made(name, site, root, None, self.seen)
        listeners = self._watch.hearing(name)
        if listeners:
            op = Op(name, args, kwargs, result, site, frame, self, source)
            self._watch.call("op", listeners, (op,))
            made.module = op.known_module
            made.passed = op.facts
        if isinstance(result, TensorBase):
            self._made[id(result)] = (weakref.ref(result), made)
        elif isinstance(result, (tuple, list)):
            for r in result:
                if isinstance(r, TensorBase):
                    self._made[id(r)] = (weakref.ref(r), made)
        else:
            return
        if len(self._made) > self._most:
            self._made = {k: v for k, v in self._made.items() if v[0]() is not None}
            self._most = max(4000, 2 * len(self._made))


class Op:
    """One op that ran: its name, arguments, result, place and what its first operand came from."""

    __slots__ = (
        "args",
        "calls",
        "facts",
        "frame",
        "known_module",
        "kwargs",
        "name",
        "result",
        "site",
        "source",
    )

    def __init__(self, name, args, kwargs, result, site, frame, calls, source):
        self.name, self.args, self.kwargs, self.result = name, args, kwargs, result
        self.site, self.frame, self.calls, self.source = site, frame, calls, source
        self.known_module, self.facts = None, ()

    @property
    def module(self):
        """The package's module that called the op, if one did."""
        if self.known_module is None:
            self.known_module = running_module(2)
        return self.known_module

    def argument(self, position: int, name: str, default=None):
        return self.args[position] if len(self.args) > position else self.kwargs.get(name, default)
