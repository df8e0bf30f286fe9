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


__getattr__ = _absent.names("fx", _REASON)
_absent.submodule(
    "fx._symbolic_trace", is_fx_tracing=lambda: False, is_fx_symbolic_tracing=lambda: False,
    wrap=wrap,
)  # fmt: skip
