"""The compiler's front end: code runs as it is; what asks about compiled code is answered."""

from __future__ import annotations

from rushlight import _absent
from rushlight.compiler import (  # noqa: F401
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    substitute_in_graph,
)

from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable",
    "is_compiling", "list_backends", "mark_dynamic", "mark_static", "maybe_mark_dynamic",
    "optimize", "reset",
]  # fmt: skip

_REASON = (
    "rushlight runs code as it is. To see what it runs, use torch.profiler or 'rushlight profile'."
)


def _nothing(*args, **kwargs) -> None:
    """Does nothing: no graph is made that it could concern."""


mark_dynamic = mark_static = maybe_mark_dynamic = mark_static_address = mark_unbacked = _nothing
graph_break = reset_code_caches = _nothing
forbid_in_graph = disallow_in_graph = run = allow_in_graph


def optimize(*args, **kwargs):
    """A decorator that returns its function or module as ``torch.compile`` does."""
    from rushlight.functional import compile

    return lambda model: compile(model)


optimize_assert = optimize


def _no(*args) -> bool:
    """False: no graph is made."""
    return False


is_inductor_supported = is_dynamo_supported = is_compile_supported = _no


config = _absent.settings(
    "_dynamo.config", accumulated_recompile_limit=256, allow_unspec_int_on_nn_module=False,
    assume_static_by_default=True, automatic_dynamic_shapes=True, cache_size_limit=8,
    capture_dynamic_output_shape_ops=False,
    capture_scalar_outputs=False, compiled_autograd=False, disable=False, dynamic_shapes=True,
    error_on_recompile=False, force_parameter_static_shapes=True, guard_nn_modules=True,
    inline_inbuilt_nn_modules=True, log_level=30, optimize_ddp=True, recompile_limit=8,
    specialize_int=False, suppress_errors=False, verbose=False,
)  # fmt: skip

__getattr__ = _absent.names("_dynamo", _REASON)


class TransformGetItemToIndex:
    """A block in which indices may be tensors; they always may."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


_absent.submodule(
    "_dynamo._trace_wrapped_higher_order_op", TransformGetItemToIndex=TransformGetItemToIndex
)
_absent.submodule("_dynamo.external_utils", is_compiling=is_compiling)
_absent.submodule("_dynamo.decorators", mark_static_address=_nothing)
_absent.submodule("_dynamo.utils", counters={}, is_compile_supported=lambda device_type: False)
