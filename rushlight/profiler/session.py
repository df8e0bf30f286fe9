"""One recording from its start to its events: torch.autograd.profiler.profile."""

from __future__ import annotations

import uuid
import warnings

from rushlight import _C
from rushlight._ranges import recordings

from .function_events import EventList
from .kinds import ProfilerActivity, ProfilerState
from .recording import Recording, function_events


class profile:
    """Records what runs inside a ``with`` block.

    Args:
        enabled: False makes the block record nothing.
        record_shapes: writes down the sizes of each op's tensors.
        with_flops: shows the floating-point operations of products, convolutions, attention,
            norms and element-wise sums and products.
        profile_memory: writes down each allocation and release.
        with_stack: keeps the user's line of each op, and the modules around it.
        with_modules: shows module calls among the events.
    """

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
        activity_filters=None,
    ):
        self.enabled = enabled
        if use_cuda or use_device == "cuda":
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        self.use_device = None
        self.entered = False
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.use_cpu = use_cpu
        self.use_cuda = use_cuda
        self.experimental_config = experimental_config
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.activity_filters = activity_filters
        self.kineto_activities = {ProfilerActivity.CPU}
        self.profiler_kind = ProfilerState.KINETO
        self.trace_id = ""
        self.recorder = None
        self._events = None
        self._earlier = []

    default_trace_id = staticmethod(lambda: uuid.uuid4().hex.upper())

    def create_trace_id(self) -> str:
        """A new name for a trace: the callback's, else 32 hexadecimal digits."""
        return (self.custom_trace_id_callback or self.default_trace_id)()

    def config(self, create_trace_id=False):
        """What is recorded, as a dict; ``create_trace_id`` gives the trace a new name."""
        if create_trace_id:
            self.trace_id = self.create_trace_id()
        names = "record_shapes profile_memory with_stack with_flops with_modules trace_id".split()
        return {name: getattr(self, name) for name in names}

    def toggle_collection_dynamic(self, enabled, activities=()) -> None:
        """Pauses the recording that runs, or lets it go on."""
        if self.recorder is not None:
            (self.recorder.start if enabled else self.recorder.stop)()

    def _start(self) -> None:
        self.trace_id = self.create_trace_id()
        self.recorder = _C.Recorder(
            tensors=self.record_shapes,
            memory=self.profile_memory,
            nodes=True,
            modules=self.with_stack or self.with_modules,
        )
        recordings.append(self.recorder)
        self.recorder.start()

    def _stop(self) -> None:
        self.recorder.stop()
        recordings.remove(self.recorder)
        if self.acc_events and self._events is not None:
            self._earlier = list(self._events)
        self._events = None

    def __enter__(self):
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._start()
        return self

    def __exit__(self, *_):
        if self.enabled and self.recorder is not None and self.recorder.running:
            self._stop()
        return False

    def _ended(self) -> None:
        if self.recorder is None or self.recorder.running:
            raise RuntimeError("Profiler didn't finish running")

    @property
    def recording(self) -> Recording:
        """What was recorded, before it became events."""
        self._ended()
        return Recording(self.recorder)

    @property
    def function_events(self) -> EventList:
        """All events, in order of their beginning."""
        self._ended()
        if self._events is None:
            self._events = function_events(
                self.recording,
                shapes=self.record_shapes,
                memory=self.profile_memory,
                stacks=self.with_stack,
                flops=self.with_flops,
                modules=self.with_stack or self.with_modules,
            )
            self._events[:0] = self._earlier
        return self._events

    def __repr__(self):
        if self.recorder is None or self.recorder.running:
            return "<unfinished torch.autograd.profile>"
        return repr(self.function_events)

    def __str__(self):
        if self.recorder is None or self.recorder.running:
            return "<unfinished torch.autograd.profile>"
        return str(self.function_events)

    def table(self, *args, **kwargs) -> str:
        """All events as text."""
        return self.function_events.table(*args, **kwargs)

    def key_averages(
        self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False
    ) -> EventList:
        """Events of one name summed up."""
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self):
        """All events as one."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events together."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path) -> None:
        """Writes the events for chrome://tracing and Perfetto."""
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total") -> None:
        """Writes stacks with a metric each; needs ``with_stack=True``."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)
