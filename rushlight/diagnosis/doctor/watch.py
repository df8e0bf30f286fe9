"""Telling checks what a program does: forward, backward, steps, batches, each with its line."""

from __future__ import annotations

from collections import defaultdict

from rushlight import _C


def here():
    """The user's line that runs now: (file, function, line, end line, column, end column)."""
    return _C._here()


class Watch:
    """Listeners by event, called in the order in which they were added.

    forward(module, args, output)    after each module's call
    backward(tensor, arguments)      before ``backward``
    backward_end(tensor, arguments, error)   after it
    step(optimizer), stepped(optimizer), zero_grad(optimizer)   before, after, before
    optimizer(optimizer)             after it is made
    scheduler_step(scheduler)        before
    loader(loader), batch(loader, batch)       when an iteration begins; before a batch is handed on
    mode(module, training)           before ``train()`` and ``eval()``
    load_state_dict(module, state, strict)   before; state_dict(module, state) after
    """

    def __init__(self):
        self._listeners = defaultdict(list)
        self._undo = []

    def on(self, event: str, listener) -> None:
        """Calls ``listener`` at an event; nothing is patched for events that nobody hears."""
        self._listeners[event].append(listener)

    def tell(self, event: str, *details) -> None:
        """Calls the listeners; what they raise does not reach the program."""
        for listener in self._listeners.get(event, ()):
            try:
                listener(*details)
            except Exception:
                self._listeners[event].remove(listener)
                break

    def start(self) -> None:
        """Puts itself in the way of the calls that somebody listens to."""
        heard = self._listeners
        if "forward" in heard:
            from rushlight.nn.modules.module import register_module_forward_hook

            handle = register_module_forward_hook(
                lambda module, args, output: self.tell("forward", module, args, output),
                always_call=False,
            )
            self._undo.append(handle.remove)
        if "step" in heard or "stepped" in heard:
            from rushlight.optim import optimizer

            for register, event in (
                (optimizer.register_optimizer_step_pre_hook, "step"),
                (optimizer.register_optimizer_step_post_hook, "stepped"),
            ):
                self._undo.append(register(self._telling_of_step(event)).remove)
        for event, place in _PLACES.items():
            if event in heard:
                owner, name, wrapper = place()
                self._wrap(owner, name, wrapper)

    def stop(self) -> None:
        """Takes itself out of the way."""
        while self._undo:
            self._undo.pop()()

    def _telling_of_step(self, event: str):
        return lambda optimizer, args, kwargs: self.tell(event, optimizer)

    def _wrap(self, owner, name: str, wrapper) -> None:
        original = owner.__dict__[name]
        setattr(owner, name, wrapper(self, original))
        self._undo.append(lambda: setattr(owner, name, original))


def _backward(watch, original):
    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        arguments = {
            "gradient": gradient,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "inputs": inputs,
        }
        watch.tell("backward", self, arguments)
        try:
            original(self, gradient, retain_graph, create_graph, inputs)
        except BaseException as error:
            watch.tell("backward_end", self, arguments, error)
            raise
        watch.tell("backward_end", self, arguments, None)

    return backward


def _before(event: str):
    def wrapper(watch, original):
        def method(self, *args, **kwargs):
            watch.tell(event, self)
            return original(self, *args, **kwargs)

        return method

    return wrapper


def _places():
    def tensor():
        import rushlight

        return rushlight.Tensor

    def optimizer():
        from rushlight.optim import Optimizer

        return Optimizer

    def module():
        from rushlight.nn import Module

        return Module

    def loader():
        from rushlight.utils.data import DataLoader

        return DataLoader

    def scheduler():
        from rushlight.optim.lr_scheduler import LRScheduler

        return LRScheduler

    return {
        "backward": lambda: (tensor(), "backward", _backward),
        "zero_grad": lambda: (optimizer(), "zero_grad", _before("zero_grad")),
        "optimizer": lambda: (optimizer(), "__init__", _after_init),
        "scheduler_step": lambda: (scheduler(), "step", _before("scheduler_step")),
        "mode": lambda: (module(), "train", _mode),
        "load_state_dict": lambda: (module(), "load_state_dict", _loading),
        "state_dict": lambda: (module(), "state_dict", _state),
        "loader": lambda: (loader(), "__iter__", _iteration),
    }


def _after_init(watch, original):
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        watch.tell("optimizer", self)

    return __init__


def _mode(watch, original):
    def train(self, mode=True):
        watch.tell("mode", self, mode)
        return original(self, mode)

    return train


def _loading(watch, original):
    def load_state_dict(self, state_dict, strict=True, assign=False):
        watch.tell("load_state_dict", self, state_dict, strict)
        return original(self, state_dict, strict, assign)

    return load_state_dict


def _state(watch, original):
    def state_dict(self, *args, **kwargs):
        state = original(self, *args, **kwargs)
        watch.tell("state_dict", self, state)
        return state

    return state_dict


def _iteration(watch, original):
    def __iter__(self):
        watch.tell("loader", self)
        for batch in original(self):
            watch.tell("batch", self, batch)
            yield batch

    return __iter__


_PLACES = _places()
