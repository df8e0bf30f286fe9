"""TorchScript's names as pass-through: code runs in Python as it is; see docs/why.md.

What marks, scripts or traces a function or module returns it, so programs run on; what needs the
compiled form (saving it, loading it, its graph) raises NotImplementedError.
"""

from __future__ import annotations

import builtins
import contextlib

from rushlight import _absent
from rushlight.futures import Future
from rushlight.nn.modules.module import Module

__all__ = [
    "Attribute", "Final", "Future", "ScriptFunction", "ScriptModule", "annotate", "export",
    "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance",
    "optimize_for_inference", "script", "script_if_tracing", "script_method", "trace",
    "trace_module", "unused", "wait",
]  # fmt: skip


class TracerWarning(Warning):
    """Never given: nothing is traced."""


class ScriptWarning(Warning):
    """Never given: nothing is compiled."""


class TracingCheckError(Exception):
    """Never raised: nothing is traced."""


Error = RuntimeError


def is_scripting() -> bool:
    """False: code runs in Python."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


def _as_it_is(fn=None, **options):
    if callable(fn):
        return fn
    return lambda decorated: decorated


ignore = unused = export = interface = script_method = script_if_tracing = _drop = _as_it_is
_overload = _overload_method = _script_if_tracing = _as_it_is


def annotate(the_type, the_value):
    """Returns ``the_value``."""
    return the_value


def isinstance(obj, target_type) -> bool:
    """Whether ``obj`` has a type such as ``list[int]``; what containers hold is looked at."""
    from types import UnionType
    from typing import Any, Union, get_args, get_origin

    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, kind) for kind in target_type)
    origin, kinds = get_origin(target_type), get_args(target_type)
    if target_type is Any:
        return True
    if target_type is None:
        return obj is None
    if origin in (Union, UnionType):
        return any(isinstance(obj, kind) for kind in kinds)
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, kinds[0]) and isinstance(v, kinds[1]) for k, v in obj.items())
    if origin is tuple:
        if len(kinds) == 2 and kinds[1] is Ellipsis:
            return all(isinstance(item, kinds[0]) for item in obj)
        return len(obj) == len(kinds) and all(map(isinstance, obj, kinds))
    return all(isinstance(item, kinds[0]) for item in obj)


class Attribute:
    """A value with its type: ``Attribute(value, type)``."""

    def __new__(cls, value, type):
        return value


class Final:
    """A mark for attributes that do not change; nothing looks at it."""

    def __class_getitem__(cls, item):
        return item


class ScriptModule(Module):
    """A Module: a class derived from it runs in Python. Scripting another makes none of it."""


class ScriptFunction:
    """The type of compiled functions: nothing is one."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torch.jit.ScriptFunction is not supported: {_REASON}")


class RecursiveScriptModule(ScriptModule):
    """The type of compiled modules: nothing is one."""


class TracedModule(ScriptModule):
    """The type of traced modules: nothing is one."""


TopLevelTracedModule = TracedModule
_REASON = (
    "rushlight has no TorchScript. Functions and modules run as they are; keep a model with "
    "torch.save(model.state_dict(), file)."
)


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Returns ``obj``, a function, module or class: it runs in Python."""
    if not callable(obj):
        return obj
    return obj


def trace(
    func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None,
    check_tolerance=1e-5, strict=True, _force_outplace=False, _module_class=None,
    _compilation_unit=None, example_kwarg_inputs=None, _store_inputs=True,
):  # fmt: skip
    """Returns ``func`` after one call with the example: it takes its branches anew each time."""
    import rushlight

    with rushlight.no_grad():
        if example_kwarg_inputs is not None:
            func(**example_kwarg_inputs)
        elif builtins.isinstance(example_inputs, (tuple, list)):
            func(*example_inputs)
        else:
            func(example_inputs)
    return func


def trace_module(mod, inputs, *args, **kwargs):
    """Returns ``mod``."""
    return mod


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """Returns ``mod``, which must be in evaluation mode."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    return mod


def optimize_for_inference(mod, other_methods=None):
    """Returns ``mod`` in evaluation mode."""
    return mod.eval()


run_frozen_optimizations = optimize_for_inference


def fork(func, *args, **kwargs) -> Future:
    """Calls ``func`` at once; returns a Future that has its result."""
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """The result of :func:`fork`."""
    return future.wait()


@contextlib.contextmanager
def _unchanged(*args, **kwargs):
    yield


optimized_execution = fuser = strict_fusion = _IgnoreContextManager = _unchanged


def set_fusion_strategy(strategy) -> list:
    """Returns the strategy before, an empty list: nothing is fused by TorchScript."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Does nothing."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


def export_opnames(m) -> list:
    """An empty list: there is no compiled form."""
    return []


def _unwrap_optional(x):
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


__getattr__ = _absent.names("jit", _REASON)
_absent.submodule(
    "jit._script", RecursiveScriptModule=RecursiveScriptModule, ScriptModule=ScriptModule,
    script=script,
)  # fmt: skip
_absent.submodule("jit._trace", TracedModule=TracedModule, trace=trace)
