"""A model's graph for TensorBoard: the functions that one call of it makes, module by module."""

from __future__ import annotations

import re

import rushlight as torch
from rushlight.overrides import TorchFunctionMode, resolve_name
from rushlight.utils._pytree import tree_leaves

from ._event_file import integer, nested

__all__ = ["graph"]

# GraphDef's version, that TensorBoard asks for.
_PRODUCER = 22


class _Calls(TorchFunctionMode):
    """Notes each function that is called with tensors and gives some, under its module's name."""

    def __init__(self, model):
        super().__init__()
        self.nodes, self.scopes, self._made = [], [type(model).__name__], {}
        self._names = {id(m): name.rpartition(".")[2] for name, m in model.named_modules()}
        for name, module in model.named_modules():
            owned = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
            for key, tensor in owned:
                scope = self._scope(model, name.split(".") if name else [])
                self.add(f"{scope}/{key}", "prim::GetAttr", [], tensor)

    @staticmethod
    def _scope(model, path) -> str:
        scope, module = type(model).__name__, model
        for name in path:
            module = getattr(module, name)
            scope += f"/{type(module).__name__}[{name}]"
        return scope

    def add(self, name: str, op: str, inputs, tensor) -> None:
        """A node whose result is ``tensor``; keeping the tensor keeps its id from being reused."""
        self.nodes.append((name, op, inputs, tensor))
        if tensor is not None:
            self._made[id(tensor)] = name

    def sources(self, values) -> list[str]:
        """The names of the nodes that made the tensors among ``values``, each once."""
        names = (self._made.get(id(v)) for v in tree_leaves(values))
        return list(dict.fromkeys(name for name in names if name is not None))

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        tensors = [t for t in tree_leaves(made) if isinstance(t, torch.Tensor)]
        inputs = self.sources((args, kwargs or {})) if tensors else []
        if inputs:
            op = (resolve_name(func) or getattr(func, "__name__", "call")).rpartition(".")[2]
            for tensor in tensors:
                if id(tensor) not in self._made or op.endswith("_"):
                    self.add(f"{self.scopes[-1]}/{op}_{len(self.nodes)}", f"aten::{op}",
                             inputs, tensor)  # fmt: skip
        return made

    def enter(self, module, args) -> None:
        """Before a module's call: what it calls stands under its name."""
        name = self._names.get(id(module))
        if name:
            self.scopes.append(f"{self.scopes[-1]}/{type(module).__name__}[{name}]")
        else:
            self.scopes.append(self.scopes[-1])

    def leave(self, module, args, made) -> None:
        """After a module's call."""
        self.scopes.pop()


def _shape(sizes) -> bytes:
    return b"".join(nested(2, integer(1, n)) for n in sizes)


def _node(name: str, op: str, inputs, tensor) -> bytes:
    def attribute(key: str, value: bytes) -> bytes:
        return nested(5, nested(1, key) + nested(2, value))

    body = nested(1, name) + nested(2, op) + b"".join(nested(3, source) for source in inputs)
    body += attribute("attr", nested(2, b""))
    if tensor is not None:
        body += attribute("_output_shapes", nested(1, nested(7, _shape(tensor.shape))))
    return nested(1, body)


def graph(model, inputs, verbose: bool = False) -> bytes:
    """The encoded graph of one call of ``model`` with ``inputs`` (a tensor, or several)."""
    if inputs is None:
        raise RuntimeError("add_graph needs input_to_model: the graph is that of one call")
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    calls = _Calls(model)
    for i, tensor in enumerate(tree_leaves(inputs)):
        if isinstance(tensor, torch.Tensor):
            calls.add(f"input/{i}", "IO Node", [], tensor)
    modules = list(model.modules())
    hooks = [m.register_forward_pre_hook(calls.enter) for m in modules]
    hooks += [m.register_forward_hook(calls.leave, always_call=True) for m in modules]
    training = model.training
    try:
        with torch.no_grad(), calls:
            made = model.eval()(*inputs)
    except BaseException:
        print("Error occurs, No graph saved")
        raise
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    for i, tensor in enumerate(t for t in tree_leaves(made) if isinstance(t, torch.Tensor)):
        calls.add(f"output/{i}", "IO Node", calls.sources(tensor), tensor)
    nodes = [(re.sub(r"[^\w./\[\]-]", "_", n), op, sources, t) for n, op, sources, t in calls.nodes]
    if verbose:
        print("\n".join(f"{name} = {op}({', '.join(sources)})" for name, op, sources, _ in nodes))
    return b"".join(_node(*node) for node in nodes) + nested(4, integer(1, _PRODUCER))
