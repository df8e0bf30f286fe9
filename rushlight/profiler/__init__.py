"""Where time and memory went: recordings, tables, traces, and a verdict."""

# ruff: noqa: F401  (names are imported to be found here)

from __future__ import annotations

from rushlight._ranges import record_function

from . import itt
from .kinds import DeviceType, ProfilerActivity, RecordScope
from .profiler import (
    ExecutionTraceObserver,
    ProfilerAction,
    _KinetoProfile,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "RecordScope",
    "itt",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def __getattr__(name):
    if name == "region":
        from .regions import region

        return region
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def export_html(prof, path) -> None:
    """Writes what a profiler recorded as one HTML page: verdict, timeline, ops, roofline, memory.

    An extension of Rushlight's: PyTorch has no such function.

    Args:
        prof: a ``profile`` that has ended, best with ``record_shapes``, ``profile_memory`` and
            ``with_modules``.
        path: the file.
    """
    from .page import write_page

    write_page(prof, path)


def kineto_available() -> bool:
    """Whether traces can be recorded: always."""
    return True
