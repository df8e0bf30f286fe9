"""torch.fx: programs as graphs that Python can read, change and turn into code again."""

from __future__ import annotations

from rushlight import _absent

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]  # fmt: skip
# Where each name is defined; it is imported when it is first asked for.
_HOME = {
    "CodeGen": "graph", "Graph": "graph", "GraphModule": "graph_module",
    "Interpreter": "interpreter", "Node": "node", "PH": "_symbolic_trace",
    "ProxyableClassMeta": "_symbolic_trace", "Proxy": "proxy", "Tracer": "_symbolic_trace",
    "Transformer": "interpreter", "has_side_effect": "node", "map_arg": "node",
    "replace_pattern": "subgraph_rewriter", "symbolic_trace": "_symbolic_trace",
    "wrap": "_symbolic_trace",
}  # fmt: skip
_MODULES = frozenset(
    "_compatibility _lazy_graph_module _pytree _symbolic_trace annotate config experimental graph "
    "graph_module immutable_collections interpreter node operator_schemas passes proxy "
    "subgraph_rewriter tensor_type traceback".split()
)
_refused = _absent.names("fx", "this part of torch.fx is not built. Graphs can be read and changed "
                         "as they are.")  # fmt: skip


def __getattr__(name: str):
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    return _refused(name)


def __dir__():
    return sorted({*globals(), *_HOME, *_MODULES})
