"""torch.autograd.profiler: the recorder behind torch.profiler, and its older names."""

# ruff: noqa: F401  (names are imported to be found here)

from __future__ import annotations

from rushlight._ranges import record_function
from rushlight.profiler import kineto_available
from rushlight.profiler.function_events import EventList, FunctionEvent
from rushlight.profiler.session import profile


class _Emit:
    """A range annotator for a tool that does not see CPU programs: records nothing.

    Args:
        enabled: kept.
        record_shapes: kept.
    """

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.entered = False

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{self._what} annotation context manager is not reentrant")
        self.entered = True
        return self

    def __exit__(self, *_):
        return False


class emit_nvtx(_Emit):
    """Accepted so that programs run; there is no NVTX without a GPU."""

    _what = "NVTX"


class emit_itt(_Emit):
    """Accepted so that programs run; ranges are not sent to Intel's tools."""

    _what = "ITT"
