"""Which modules run now, in forward and in backward."""

from __future__ import annotations

import logging
import weakref

import rushlight as torch
from rushlight.autograd.graph import register_multi_grad_hook
from rushlight.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from rushlight.utils._pytree import tree_flatten

__all__ = ["ModuleTracker"]

logger = logging.getLogger(__name__)


class ModuleTracker:
    """Within ``with ModuleTracker() as tracker``, ``tracker.parents`` names what runs.

    It is a set of qualified names, "Global" among them; a module of no known parent is named by its
    class. A module is left in backward when the gradients of its inputs are there, so those of its
    parameters may come after. ``is_bw`` says whether backward runs.
    """

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._known_modules = weakref.WeakKeyDictionary()
        self._seen_modules = weakref.WeakSet()
        self._has_callback = False
        self._hooks: list = []

    def __enter__(self):
        self._fw_pre_handle = register_module_forward_pre_hook(self._fw_pre_hook)
        self._fw_post_handle = register_module_forward_hook(self._fw_post_hook)
        return self

    def __exit__(self, *args):
        self._fw_pre_handle.remove()
        self._fw_post_handle.remove()
        for handle in self._hooks:
            handle.remove()
        self._hooks.clear()

    @property
    def is_bw(self) -> bool:
        """Whether backward runs."""
        return torch._C._current_graph_task_id() != -1

    def _name_of(self, module) -> str:
        """The module's qualified name; those of its children become known."""
        name = self._known_modules.setdefault(module, type(module).__name__)
        if module not in self._seen_modules:
            self._seen_modules.add(module)
            for key, child in module.named_children():
                self._known_modules[child] = f"{name}.{key}"
                self._name_of(child)
        return name

    def _end_with_backward(self) -> None:
        def done():
            self.parents = {"Global"}
            self._has_callback = False

        if not self._has_callback:
            torch.autograd.Variable._execution_engine.queue_callback(done)
            self._has_callback = True

    def _entering(self, name: str, backward: bool):
        def enter(*args):
            if backward:
                self._end_with_backward()
            if name in self.parents:
                logger.info("The module hierarchy tracking seems to be broken as this Module "
                            "was already entered. %s during %s", name,
                            "backward" if backward else "forward")  # fmt: skip
            self.parents.add(name)

        return enter

    def _leaving(self, name: str, backward: bool):
        def leave(*args):
            if name not in self.parents:
                logger.info("The Module hierarchy tracking is confused as we're exiting a Module "
                            "that was never entered. %s during %s", name,
                            "backward" if backward else "forward")  # fmt: skip
            self.parents.discard(name)

        return leave

    def _follow(self, values, hook) -> None:
        """Call ``hook`` when backward has the gradients of the tensors in ``values``."""
        leaves, _ = tree_flatten(values)
        tensors = [t for t in leaves if isinstance(t, torch.Tensor) and t.requires_grad]
        if tensors and torch.is_grad_enabled():
            self._hooks.append(register_multi_grad_hook(tensors, hook))

    def _fw_pre_hook(self, module, input):
        if torch._C._current_graph_task_id() != -1:  # a forward within backward: checkpoints
            self._end_with_backward()
        name = self._name_of(module)
        self._entering(name, False)()
        self._follow(input, self._leaving(name, True))

    def _fw_post_hook(self, module, input, output):
        name = self._name_of(module)
        self._leaving(name, False)()
        self._follow(output, self._entering(name, True))
