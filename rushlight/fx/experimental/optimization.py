"""Changes of graphs that make inference quicker."""

from __future__ import annotations

import copy

import rushlight as torch
from rushlight import _absent
from rushlight.nn.utils.fusion import fuse_conv_bn_eval

from ..graph_module import GraphModule
from ..interpreter import Transformer

_PATTERNS = tuple(
    (getattr(torch.nn, f"Conv{n}d"), getattr(torch.nn, f"BatchNorm{n}d")) for n in (1, 2, 3)
)


def _parent_name(target: str) -> tuple:
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern, node, modules: dict) -> bool:
    """Whether ``node`` calls a module of the second class, on what one of the first made."""
    if not node.args:
        return False
    for expected, current in zip(pattern, (node.args[0], node), strict=False):
        op = getattr(current, "op", None)
        if op != "call_module" or not isinstance(current.target, str):
            return False
        if current.target not in modules or type(modules[current.target]) is not expected:
            return False
    return True


def replace_node_module(node, modules: dict, new_module) -> None:
    """Puts ``new_module`` where ``node`` finds its module."""
    if not isinstance(node.target, str):
        raise AssertionError(f"Expected str target, got {type(node.target)}")
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace: bool = False, no_trace: bool = False):
    """``model``, in evaluation, with batch norms taken into the convolutions before them."""
    if not inplace:
        model = copy.deepcopy(model)
    if not no_trace or not isinstance(model, GraphModule):
        from .._symbolic_trace import symbolic_trace

        traced = symbolic_trace(model)
    else:
        traced = model
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in _PATTERNS:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            if len(node.args[0].users) > 1:  # the convolution's result is used elsewhere, too
                continue
            conv, norm = modules[node.args[0].target], modules[node.target]
            if not norm.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, fuse_conv_bn_eval(conv, norm))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model):
    """``model`` without its dropouts."""
    from .._symbolic_trace import symbolic_trace

    class DropoutRemover(Transformer):
        """Lets the input of a dropout stand for its result."""

        def call_module(self, target, args, kwargs):
            if isinstance(self.submodules[target], torch.nn.Dropout):
                if len(args) != 1:
                    raise AssertionError(f"Expected 1 arg for Dropout, got {len(args)}")
                return args[0]
            return super().call_module(target, args, kwargs)

    return DropoutRemover(symbolic_trace(model)).transform()


__getattr__ = _absent.names("fx.experimental.optimization")
