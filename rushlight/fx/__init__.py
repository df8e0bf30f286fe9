"""Graphs of programs: refused. Functions marked for them stay as they are."""

from __future__ import annotations

from rushlight import _absent

_REASON = (
    "rushlight runs programs as they are and keeps no graph of them. To see what a program runs, "
    "use torch.profiler or 'rushlight profile'."
)


def wrap(fn_or_name):
    """Returns ``fn_or_name``: nothing is traced, so nothing is to be kept from it."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    return fn_or_name


def has_side_effect(fn):
    """Returns ``fn``: no graph is cleaned of calls."""
    return fn


__getattr__ = _absent.names(
    "fx", _REASON,
    "CodeGen Graph GraphModule Interpreter Node PH Proxy ProxyableClassMeta Tracer Transformer "
    "map_arg replace_pattern symbolic_trace",
)  # fmt: skip

for _name, _known in {
    "_symbolic_trace": "Tracer symbolic_trace wrap is_fx_tracing is_fx_symbolic_tracing",
    "graph": "CodeGen Graph PythonCode",
    "graph_module": "GraphModule",
    "immutable_collections": "immutable_dict immutable_list",
    "interpreter": "Interpreter Transformer",
    "node": "Argument Node Target has_side_effect map_aggregate map_arg",
    "operator_schemas": "ArgsKwargsPair normalize_function normalize_module",
    "passes": "",
    "passes.infra": "",
    "passes.shape_prop": "ShapeProp TensorMetadata",
    "proxy": "Attribute GraphAppendingTracer ParameterProxy Proxy TraceError Tracer TracerBase",
    "subgraph_rewriter": "Match replace_pattern",
    "experimental": "",
    "experimental.proxy_tensor": "make_fx ProxyTorchDispatchMode get_proxy_mode",
    "experimental.symbolic_shapes": "ShapeEnv StrictMinMaxConstraint free_symbols guard_bool "
    "guard_int guard_size_oblivious statically_known_true",
}.items():
    _absent.submodule(f"fx.{_name}", _REASON, _known)

import sys as _sys  # noqa: E402

_sys.modules[f"{__name__}._symbolic_trace"].is_fx_tracing = lambda: False
_sys.modules[f"{__name__}._symbolic_trace"].is_fx_symbolic_tracing = lambda: False
