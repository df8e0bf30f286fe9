"""The graph: its nodes and edges, hooks on saved tensors and on gradients."""

from __future__ import annotations

from collections import namedtuple
from contextlib import contextmanager

import rushlight as torch

from .. import _C

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

Node = _C._NodeBase


def _handle(registered):
    from ..utils.hooks import handle_in_core

    return handle_in_core(registered, Node._remove_hook)


class GradientEdge(namedtuple("GradientEdge", "node output_nr ownership_token", defaults=(None,))):
    """A place in the graph that gradients flow to: a node and which of its results."""

    __slots__ = ()


def get_gradient_edge(tensor) -> GradientEdge:
    """The edge that the gradient of ``tensor`` flows along."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not "
                           "require gradients")  # fmt: skip
    return GradientEdge(*_C._gradient_edge(tensor))


def increment_version(tensor) -> None:
    """Marks ``tensor`` (or several) as changed in place."""
    for each in (tensor,) if isinstance(tensor, torch.Tensor) else tensor:
        each._bump_version()


class saved_tensors_hooks:
    """Passes what operations save for backward through ``pack_hook`` and, later, ``unpack_hook``.

    ``pack_hook(tensor)`` returns anything; ``unpack_hook`` of that returns a tensor with the same
    content. Hooks of inner blocks hide those of outer ones.
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        _C._push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error):
        _C._pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Moves what operations save to the CPU, and back when backward needs it."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def pack(tensor):
            return tensor.device, tensor.cpu()

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str):
    """A block in which installing saved-tensor hooks raises ``error_message``."""
    before = _C._disable_saved_tensors_hooks(error_message)
    try:
        yield
    finally:
        _C._disable_saved_tensors_hooks(before)


@contextmanager
def allow_mutation_on_saved_tensors():
    """A block in which saved tensors may be changed in place: each is saved as a copy."""
    with saved_tensors_hooks(lambda tensor: tensor.clone(), lambda tensor: tensor):
        yield


class _MultiHandle:
    def __init__(self, handles: tuple):
        self.handles = handles

    def remove(self) -> None:
        """Removes the hook from all tensors."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode: str = "all"):
    """Calls ``fn`` once per backward, when the gradients of ``tensors`` have been computed.

    ``mode="all"``: ``fn(grads)`` after all that take part, None for the others;
    ``mode="any"``: ``fn(grad)`` with the first. Returns a handle with ``remove()``.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    from threading import Lock

    lock = Lock()
    if mode == "any":
        return _any_gradient(tensors, fn, lock)
    tensors = tuple(tensors)
    nodes = [get_gradient_edge(t)[0] for t in tensors]
    runs: dict = {}

    def hook_of(position):
        def hook(grad):
            run = _C._current_run()
            with lock:
                if run not in runs:
                    runs.clear()
                    executed = [_C._will_run(node) for node in nodes]
                    runs[run] = [sum(executed), [None] * len(tensors)]
                state = runs[run]
                state[1][position] = grad
                state[0] -= 1
                complete = state[0] == 0
                grads = state[1]
                if complete:
                    del runs[run]
            if complete:
                fn(grads)

        return hook

    return _MultiHandle(tuple(t.register_hook(hook_of(i)) for i, t in enumerate(tensors)))


def _any_gradient(tensors, fn, lock):
    seen: list = [None]

    def hook(grad):
        run = _C._current_run()
        with lock:
            if seen[0] == run:
                return
            seen[0] = run
        fn(grad)

    return _MultiHandle(tuple(t.register_hook(hook) for t in tensors if t.requires_grad))
