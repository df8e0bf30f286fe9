"""torch.autograd.profiler: the recorder behind torch.profiler, and its older names."""

# ruff: noqa: F401  (names are imported to be found here)

from __future__ import annotations

from rushlight._ranges import record_function
from rushlight.profiler import kineto_available
from rushlight.profiler.function_events import EventList, FunctionEvent
from rushlight.profiler.kinds import DeviceType, ProfilerActivity, ProfilerState
from rushlight.profiler.session import profile

from .profiler_util import MEMORY_EVENT_NAME, OUT_OF_MEMORY_EVENT_NAME


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


class KinetoStepTracker:
    """The largest number of steps that any part of a program has counted."""

    _current_step = 0
    _step_dict: dict = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begins to count for a part of the program."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Stops to count for it; whether it was counted."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Counts one step of a part; the largest count of all."""
        cls._step_dict[requester] = cls._step_dict.get(requester, cls._current_step) + 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The largest count."""
        return cls._current_step


def load_nvprof(path):
    """Raises NotImplementedError: there is no GPU whose traces could be read."""
    raise NotImplementedError("traces of nvprof can not be read: there is no CUDA device")


parse_nvprof_trace = load_nvprof
