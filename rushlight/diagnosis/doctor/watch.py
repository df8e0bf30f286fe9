"""Telling checks what a program does: forward, backward, steps, batches, each with its line."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import weakref
from collections import defaultdict
from time import perf_counter

from rushlight import _C, nn

from ..interrupts import is_interrupt
from .calls import Calls, forget_here, is_user
from .rests import BACKWARD, CALL, STEP, Rests

# Events of each turn of a training loop, of which a part is enough where all would take too long.
TURNS = frozenset(
    "asked backward backward_end batch call clip forward module_zero_grad scaled scaler_step step "
    "stepped unscale waited zero_grad".split()
)


def here():
    """The user's line that runs now: (file, function, line, end line, column, end column)."""
    return _C._here()


def outermost_call():
    """The user's frame that called a module which no other module called; else None."""
    frame = sys._getframe(2)
    while frame is not None and not is_user(frame.f_code):
        if frame.f_code.co_name == "forward":
            return None
        frame = frame.f_back
    at = frame
    while at is not None:
        if is_forward(at):
            return None
        at = at.f_back
    return frame


def is_forward(frame) -> bool:
    """Whether a frame runs a module's forward, whatever that calls its self."""
    code = frame.f_code
    if code.co_name != "forward" or not code.co_argcount:
        return False
    owner = _C._locals(frame).get(code.co_varnames[0])
    return nn.Module in type(owner).__mro__  # asks no attribute that the program may have made


class Watch:
    """Listeners by event, called in the order in which they were added.

    forward(module, args, output)    after each module's call
    call(module, output, frame)      after a call that no other module made; the caller's frame
    backward(tensor, arguments)      before ``backward``
    backward_end(tensor, arguments, error)   after it
    step(optimizer), stepped(optimizer), zero_grad(optimizer)   before, after, before
    optimizer(optimizer)             after it is made
    scheduler_step(scheduler)        before
    loader(loader), batch(loader, batch)       when an iteration begins; before a batch is handed on
    mode(module, training)           before ``train()`` and ``eval()``
    load_state_dict(module, state, strict)   before; state_dict(module, state) after
    op(Op)                           after an op of the names listened to (``calls.Op``), or a part
                                     of them where watching all would take too long
    scheduler(scheduler)             after it is made
    module_zero_grad(module)         before
    clip(parameters)                 before gradients are clipped, ``parameters`` a list
    scaled(scaler), unscale(scaler, optimizer), scaler_step(scaler, optimizer)   before
    scaler_update(scaler)            after
    hook(module)                     before a forward hook is registered
    container(module)                after a ModuleList or Sequential is made
    apply(function, args, result)    after a custom autograd.Function ran
    saved(object)                    before ``torch.save``
    loaded(object)                   after ``torch.load``, what it returned
    optimizer_state(optimizer)       before a state is loaded into it
    loader_made(loader)              after a DataLoader is made
    seeded(seed)                     before the global random state is set
    asked(loader)                    before a batch is asked for
    grad_of_result(tensor)           the .grad of a result is read, and is None
    from_array(array, tensor)        after torch.from_numpy
    exhausted(loader)                an iterator of it is asked again after its end
    waited(loader, seconds, computed)     how long a batch took, and what followed the one before
    """

    def __init__(self):
        self._listeners = defaultdict(list)
        self._of_ops = {}  # by name of an op, None for all: listeners in order
        self._heard = {}  # by name of an op: who hears it
        self._always = defaultdict(list)  # by event: who hears it while the others rest
        self._undo = []
        self._counts = defaultdict(int)
        self.spent = 0.0  # seconds in listeners
        self.unreliable: dict[int, object] = {}  # whose listeners failed, by id
        self.calls = None
        self.rests = Rests(lambda: self.spent + (self.calls.spent if self.calls else 0.0))

    def on(self, event: str, listener, names=None, always: bool = False) -> None:
        """Calls ``listener`` at an event; nothing is patched for events that nobody hears.

        ``names``: of ops that are listened to, for the event "op"; without them all are.
        ``always``: also during rests (``TURNS``), for one that counts and takes next to no time.
        """
        self._listeners[event].append(listener)
        if always:
            self._always[event].append(listener)
        if event == "op":
            for name in (None,) if names is None else names:
                self._of_ops.setdefault(name, []).append(listener)
            self._heard.clear()

    def off(self, event: str, listener) -> None:
        """No longer calls ``listener`` at an event."""
        if listener in self._listeners[event]:
            self._listeners[event].remove(listener)
        if listener in self._always[event]:
            self._always[event].remove(listener)
        for listeners in self._of_ops.values() if event == "op" else ():
            if listener in listeners:
                listeners.remove(listener)
        self._heard.clear()

    def count(self, event: str) -> int:
        """How often an event was told; for "op relu relu_", how often such ops were seen."""
        kind, *names = event.split() or [""]
        if kind == "op":
            return sum(self.calls.names.get(n, 0) for n in names) if self.calls else 0
        return self._counts[kind]

    def hearing(self, name: str) -> list:
        """Who listens to an op."""
        found = self._heard.get(name)
        if found is None:
            found = [*self._of_ops.get(name, ()), *self._of_ops.get(None, ())]
            self._heard[name] = found
        return found

    def tell(self, event: str, *details) -> None:
        """Calls the listeners of an event; those of turns only where there is no rest.

        What vmap, grad and other transforms of functions run is not told: their tensors have no
        values, or stand for others.
        """
        if _C._count_transforms(0):
            return
        self._counts[event] += 1
        resting = self.rests.resting and event in TURNS
        listeners = (self._always if resting else self._listeners).get(event)
        if listeners:
            self.call(event, listeners, details)

    def call(self, event: str, listeners, details) -> None:
        """Calls some; the program does not get what they raise, nor its modes what they compute.

        What a signal's handler raises meanwhile goes to the program, once all were called.
        """
        calls, began, interrupt = self.calls, perf_counter(), None
        inside = calls is not None and calls.inside
        if calls is not None:
            calls.inside = True
        mode, overriding = _C._set_function_mode(False), _C._set_subclass_overrides(False)
        forget_here()
        try:
            for listener in tuple(listeners):
                try:
                    listener(*details)
                except RecursionError:  # the program is at its own limit
                    pass
                except BaseException as error:
                    self.failed(error, listener)
                    if is_interrupt(error) or not isinstance(error, Exception):
                        interrupt = error
            if interrupt is not None:
                raise interrupt
        finally:
            interrupt = None  # its traceback knows this frame
            _C._set_subclass_overrides(overriding)
            _C._set_function_mode(mode)
            if calls is not None:
                calls.inside = inside
            if event != "op":  # those are counted where they come from
                self.spent += perf_counter() - began

    def failed(self, error, listener=None) -> None:
        """A listener failed: told only where somebody works on the doctor itself."""
        owner = getattr(listener, "__self__", None)
        if owner is not None:
            self.unreliable[id(owner)] = owner
        if os.environ.get("RUSHLIGHT_DOCTOR_DEBUG") and not is_interrupt(error):
            traceback.print_exception(error)

    def start(self) -> None:
        """Puts itself in the way of the calls that somebody listens to."""
        heard = self._listeners
        if "forward" in heard or "call" in heard:
            from rushlight.nn.modules.module import register_module_forward_hook

            called = _C._forgiven(self._called)
            handle = register_module_forward_hook(called, always_call=False)
            self._undo.append(handle.remove)
        if "step" in heard or "stepped" in heard:
            from rushlight.optim import optimizer

            for register, event in (
                (optimizer.register_optimizer_step_pre_hook, "step"),
                (optimizer.register_optimizer_step_post_hook, "stepped"),
            ):
                self._undo.append(register(self._telling_of_step(event)).remove)
        for event, places in _places().items():
            if event in heard or (event == "loader" and {"batch", "waited"} & heard.keys()):
                for owner, name, wrapper in places:
                    self._wrap(owner, name, wrapper)
        if "op" in heard:
            self.calls = Calls(self)
            self.calls.push()
            self._undo.append(self.calls.pop)

    def stop(self) -> None:
        """Takes itself out of the way."""
        while self._undo:
            self._undo.pop()()

    def _called(self, module, args, output):
        rests = self.rests
        if rests.resting and is_forward(sys._getframe(1)):
            return
        frame = outermost_call()
        if frame is None:
            self.tell("forward", module, args, output)
            return
        is_new = rests.is_new(frame, module)  # counted at each call
        resting, rests.resting = rests.resting, rests.resting and not is_new
        try:
            self.tell("forward", module, args, output)
            self.tell("call", module, output, frame)
        finally:
            rests.resting = resting
        self.turn(CALL)

    def _telling_of_step(self, event: str):
        def told(optimizer, args, kwargs):
            self.tell(event, optimizer)
            if event == "stepped":
                self.turn(STEP, id(optimizer))

        return _C._forgiven(told)

    def turn(self, kind: int, owner=None) -> None:
        """A turn of a loop ends: from here on listeners may rest, or hear again."""
        rests = self.rests
        before = rests.resting
        rests.turn(kind, owner)
        if self.calls is not None and rests.resting != before:
            if before:
                self.calls.push()
            else:
                self.calls.pop()

    def _wrap(self, owner, name: str, wrapper) -> None:
        own = name in vars(owner)
        original = vars(owner)[name] if own else getattr(owner, name)
        setattr(owner, name, wrapper(self, original))
        self._undo.append(lambda: setattr(owner, name, original) if own else delattr(owner, name))


def heard(original, before=None, after=None, failed=None):
    """``original``, with ``before(*args, **kwargs)``, ``after(result, *args, **kwargs)`` and
    ``failed(error, *args, **kwargs)`` called around it. No frame of ours is on the stack meanwhile.
    """
    if isinstance(original, (staticmethod, classmethod)):
        return type(original)(_C._heard(original.__func__, before, after, failed))
    return _C._heard(original, before, after, failed)


def _backward(watch, original):
    running = []  # a call is handed on to itself by the mode that sees ops: told once

    def is_again():
        return len(running) > 1 and running[-1] is running[-2]

    def arguments(gradient=None, retain_graph=None, create_graph=False, inputs=None):
        return {
            "gradient": gradient,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "inputs": inputs,
        }

    def before(tensor, *args, **kwargs):
        running.append(tensor)
        try:
            if not is_again():
                watch.tell("backward", tensor, arguments(*args, **kwargs))
        except BaseException:  # an interrupt: the call itself does not follow
            del running[-1:]
            raise

    def after(result, tensor, *args, **kwargs):
        failed(None, tensor, *args, **kwargs)

    def failed(error, tensor, *args, **kwargs):
        try:
            if not is_again():
                watch.tell("backward_end", tensor, arguments(*args, **kwargs), error)
                watch.turn(BACKWARD)
        finally:
            del running[-1:]

    return heard(original, before, after, failed)


def _before(event: str, details=lambda args, kwargs: args[:1]):
    """A wrapper that tells ``event`` with what ``details`` makes of the arguments."""

    def wrapper(watch, original):
        def before(*args, **kwargs):
            watch.tell(event, *details(args, kwargs))

        return heard(original, before)

    return wrapper


def _after(event: str, details=lambda args, kwargs, result: args[:1]):
    """A wrapper that tells ``event`` with what ``details`` makes of arguments and result."""

    def wrapper(watch, original):
        def after(result, *args, **kwargs):
            watch.tell(event, *details(args, kwargs, result))

        return heard(original, None, after)

    return wrapper


def _apply(watch, original):
    def after(result, cls, *args, **kwargs):
        watch.tell("apply", cls, args, result)

    return classmethod(heard(vars(_C._FunctionBase)["apply"], None, after))


def _clip(watch, original):
    def before(*args, **kwargs):
        parameters, *others = args
        kept = [parameters] if hasattr(parameters, "grad") else list(parameters)
        watch.tell("clip", kept)
        return (kept, *others)  # what was given may be an iterator, which is used up now

    return heard(original, before)


def _places():
    import rushlight as torch
    from rushlight import amp, autograd, random
    from rushlight.optim import Optimizer, lr_scheduler
    from rushlight.utils.data.dataloader import DataLoader, _BaseDataLoaderIter

    LRScheduler = lr_scheduler.LRScheduler
    two = lambda args, kwargs: args[:2]  # noqa: E731
    plateau, batches = lr_scheduler.ReduceLROnPlateau, _Batches()
    schedulers = [
        k
        for k in dict.fromkeys(v for v in vars(lr_scheduler).values() if isinstance(v, type))
        if issubclass(k, LRScheduler) and "step" in vars(k)
    ]
    makers = [k for k in (LRScheduler, plateau) if "__init__" in vars(k)]
    clips = [
        (room, name, _clip)
        for room in (nn.utils, nn.utils.clip_grad)
        for name in ("clip_grad_norm_", "clip_grad_value_")
    ]
    scaler = next(k for k in amp.GradScaler.__mro__ if "unscale_" in vars(k))
    return {
        "backward": [(torch.Tensor, "backward", _backward)],
        "zero_grad": [(Optimizer, "zero_grad", _before("zero_grad"))],
        "optimizer": [(Optimizer, "__init__", _after("optimizer"))],
        "scheduler_step": [(k, "step", _before("scheduler_step")) for k in schedulers],
        "scheduler": [(k, "__init__", _after("scheduler")) for k in makers],
        "mode": [(nn.Module, "train", _before("mode", _mode))],
        "load_state_dict": [(nn.Module, "load_state_dict", _before("load_state_dict", _loading))],
        "state_dict": [(nn.Module, "state_dict", _after("state_dict", lambda a, k, r: (a[0], r)))],
        "loader": [
            (DataLoader, "__iter__", batches.begun),
            (_BaseDataLoaderIter, "__next__", batches.handed_on),
        ],
        "from_array": [(torch, "from_numpy", _after("from_array", lambda a, k, r: (a[0], r)))],
        "loader_made": [(DataLoader, "__init__", _after("loader_made"))],
        "apply": [(autograd.Function, "apply", _apply)],
        "module_zero_grad": [(nn.Module, "zero_grad", _before("module_zero_grad"))],
        "clip": clips,
        "scaled": [(scaler, "scale", _before("scaled"))],
        "unscale": [(scaler, "unscale_", _before("unscale", two))],
        "scaler_step": [(scaler, "step", _before("scaler_step", two))],
        "scaler_update": [(scaler, "update", _after("scaler_update"))],
        "container": [(k, "__init__", _after("container")) for k in (nn.ModuleList, nn.Sequential)],
        "hook": [
            (nn.Module, name, _before("hook"))
            for name in ("register_forward_hook", "register_forward_pre_hook")
        ],
        "saved": [(torch, "save", _before("saved"))],
        "loaded": [(torch, "load", _after("loaded", lambda a, k, r: (r,)))],
        "optimizer_state": [(Optimizer, "load_state_dict", _before("optimizer_state"))],
        "seeded": [(room, "manual_seed", _before("seeded")) for room in (torch, random)],
    }


def _mode(args, kwargs):
    """The arguments of ``Module.train``."""
    return args[0], args[1] if len(args) > 1 else kwargs.get("mode", True)


def _loading(args, kwargs):
    """Those of ``Module.load_state_dict``."""
    module, state, strict, *_ = (*args, *(kwargs[k] for k in ("state_dict",) if k in kwargs), True)
    return module, state, kwargs.get("strict", strict)


class _Batches:
    """Tells of batches and of the time between them, by the iterator that a loader gave."""

    def __init__(self):
        self.of = weakref.WeakKeyDictionary()  # [loader, asked, given, at its end] of an iterator

    def begun(self, watch, original):
        def after(batches, loader):
            with contextlib.suppress(TypeError):  # an iterator of the user's own, without weak refs
                self.of[batches] = [loader, 0.0, 0.0, False]

        def before(loader):
            watch.tell("loader", loader)

        return heard(original, before, after)

    def handed_on(self, watch, original):
        def before(batches):
            known = self.of.get(batches)
            if known is not None:
                watch.tell("asked", known[0])
                known[1] = perf_counter()

        def after(batch, batches):
            known = self.of.get(batches)
            if known is None:
                return
            loader, asked, given, _ = known
            now = perf_counter()
            watch.tell("waited", loader, now - asked, asked - given if given else 0.0)
            watch.tell("batch", loader, batch)
            known[2] = perf_counter()

        def failed(error, batches):
            known = self.of.get(batches)
            if known is None or not isinstance(error, StopIteration):
                return
            if known[3]:
                watch.tell("exhausted", known[0])
            known[3] = True

        return heard(original, before, after, failed)
