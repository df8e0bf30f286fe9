"""torch.autograd.profiler_util: events, their averages and lists of both."""

# ruff: noqa: F401  (names are imported to be found here)

from rushlight.profiler.function_events import (
    EventList,
    FormattedTimesMixin,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
)
from rushlight.profiler.kinds import DeviceType
from rushlight.profiler.table import format_memory as _format_memory
from rushlight.profiler.table import format_share as _format_time_share
from rushlight.profiler.table import format_time as _format_time

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"
