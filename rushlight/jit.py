"""TorchScript's decorators; TorchScript itself is refused, see docs/why.md."""

from __future__ import annotations

__all__ = ["export", "ignore", "is_scripting", "is_tracing", "unused"]


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


ignore = unused = export = _as_it_is


def annotate(the_type, the_value):
    """Returns ``the_value``."""
    return the_value


class Final:
    """A mark for attributes that do not change; nothing looks at it."""

    def __class_getitem__(cls, item):
        return item


class ScriptModule:
    """The type of compiled modules: nothing is one."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(
            "TorchScript is not supported; modules run in Python as they are."
        )


ScriptFunction = RecursiveScriptModule = TracedModule = ScriptModule


_REFUSED = (
    "script", "trace", "trace_module", "script_method", "load", "save", "freeze", "fork", "wait",
    "optimize_for_inference", "interface", "CompilationUnit",
)  # fmt: skip


def __getattr__(name: str):
    if name in _REFUSED:

        def refused(*args, **kwargs):
            raise NotImplementedError(
                f"torch.jit.{name} is not supported: rushlight has no TorchScript. Call the "
                "function or module as it is."
            )

        return refused
    raise AttributeError(f"module 'torch.jit' has no attribute '{name}'")
