"""torch.profiler.profile: recordings by schedule, their steps and what becomes of them."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings

from rushlight._ranges import record_function

from . import session, trace
from .function_events import EventList
from .kinds import ProfilerActivity


class ProfilerAction(enum.Enum):
    """What a profiler does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set:
    """The activities that can be recorded."""
    return {ProfilerActivity.CPU}


def _default_schedule_fn(_: int) -> ProfilerAction:
    """Records each step: the schedule where none is given."""
    return ProfilerAction.RECORD


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """Steps to skip, to warm up in and to record, over and over.

    Args:
        wait: steps of each cycle in which nothing is done.
        warmup: steps of each cycle in which the profiler runs, but nothing is kept.
        active: steps of each cycle that are recorded.
        repeat: cycles, 0 for as many as there are steps.
        skip_first: steps before the first cycle.
        skip_first_wait: not 0: the first cycle has no ``wait``.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """An ``on_trace_ready`` that writes each trace to a folder, where TensorBoard looks for it."""

    def handler(profiler) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        profiler.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class ExecutionTraceObserver:
    """Writes no traces of its own format: `profile.export_chrome_trace` writes what ran."""

    def register_callback(self, output_file_path: str):
        """Raises NotImplementedError."""
        raise NotImplementedError(
            "ExecutionTraceObserver is not supported; profile.export_chrome_trace writes what ran"
        )

    def unregister_callback(self) -> None:
        """Nothing is registered."""

    cleanup = start = stop = unregister_callback
    is_registered = property(lambda self: False)

    def is_running(self) -> bool:
        """Whether it observes: never."""
        return False

    def get_output_file_path(self):
        """Where it writes: nowhere."""

    @staticmethod
    def build_execution_trace_obs_from_env():
        """An observer that the environment asks for: None."""


class _KinetoProfile:
    """A recording without steps: what `profile` starts and stops, and what reads it."""

    def __init__(
        self,
        *,
        activities=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        self.activities = set(activities) if activities is not None else supported_activities()
        self.record_shapes = record_shapes
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.use_device = None
        self.has_cudagraphs = False
        self.mem_tl = None
        self.profiler = None
        self._metadata = {}

    def start(self) -> None:
        """Begins."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """Ends."""
        self.stop_trace()

    def start_trace(self) -> None:
        """Begins to record now, whatever the schedule says."""
        if self.profiler is None or not self.acc_events:
            self.profiler = session.profile(
                record_shapes=self.record_shapes,
                with_flops=self.with_flops,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_modules=self.with_modules,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
            )
        elif self.profiler.recorder is not None:
            _ = self.profiler.function_events  # kept, for the next cycle to go behind
        self.profiler._start()

    def prepare_trace(self) -> None:
        """There is nothing to prepare."""

    def stop_trace(self) -> None:
        """Ends the recording."""
        self.profiler._stop()

    def _recording(self) -> bool:
        recorder = self.profiler.recorder if self.profiler else None
        return recorder is not None and recorder.running

    # ---- Reading

    def events(self) -> EventList:
        """All events, in order of their beginning."""
        if not self.profiler:
            raise AssertionError("Profiler must be initialized before accessing events")
        return self.profiler.function_events

    def key_averages(
        self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False
    ) -> EventList:
        """Events of one name summed up, apart by input shapes or innermost lines if asked for."""
        if not self.profiler:
            raise AssertionError("Profiler must be initialized before getting key averages")
        return self.profiler.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path) -> None:
        """Writes the last recording for chrome://tracing and Perfetto; ``.gz`` compresses it."""
        if not self.profiler:
            raise AssertionError("Profiler must be initialized before exporting chrome trace")
        options = ("record_shapes", "profile_memory", "with_stack", "with_flops")
        metadata = {name: 1 for name in options if getattr(self, name)} | self._metadata
        trace.write(path, trace.as_trace(self.events(), metadata))

    def export_stacks(self, path, metric="self_cpu_time_total") -> None:
        """Writes stacks with a metric each; needs ``with_stack=True``."""
        if not self.profiler:
            raise AssertionError("Profiler must be initialized before exporting stacks")
        self.profiler.export_stacks(path, metric)

    def export_memory_timeline(self, path, device=None) -> None:
        """Writes live bytes by category over time as JSON: times in us, bytes by category."""
        if not self.profiler:
            raise AssertionError("Profiler must be initialized before exporting a memory timeline")
        from .memory_timeline import timeline

        points = timeline(self.profiler.recording)
        with open(path, "w", encoding="utf-8") as file:
            json.dump([[p.time / 1000 for p in points], [p.live for p in points]], file)

    def add_metadata(self, key: str, value: str) -> None:
        """Writes a text into the traces to come."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Writes a JSON value into the traces to come."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def toggle_collection_dynamic(self, enable: bool, activities=()) -> None:
        """Pauses the recording that runs, or lets it go on."""
        if self.profiler:
            self.profiler.toggle_collection_dynamic(enable, activities)


class profile(_KinetoProfile):
    """Records what runs: ops, the backward pass, ranges, steps; by a schedule if one is given.

    Writing down an op adds about 0.06 us to it, its graph node and the node's run as much again;
    shapes and FLOPs add 0.2 us, memory 0.15 us per op; stacks and modules next to nothing.

    Args:
        activities: where to look; the CPU is all there is.
        schedule: a function of the step's number that gives a `ProfilerAction`.
        on_trace_ready: called with the profiler whenever a cycle of the schedule ends.
        record_shapes: writes down the sizes of each op's tensors.
        profile_memory: writes down each allocation and release.
        with_stack: keeps the user's line of each op, and the modules around it.
        with_flops: shows floating-point operations.
        with_modules: shows module calls among the events.
        acc_events: keeps the events of earlier cycles.
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        self.activities = set(activities) if activities is not None else supported_activities()
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        if ProfilerActivity.CUDA in self.activities or use_cuda:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        super().__init__(
            activities=self.activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
        )
        self.on_trace_ready = on_trace_ready
        self.record_steps = schedule is not None
        self.schedule = schedule or _default_schedule_fn
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.step_rec_fn = None

    def get_trace_id(self) -> str | None:
        """The name of the last recording; None before the first."""
        return self.profiler.trace_id if self.profiler is not None else None

    def set_custom_trace_id_callback(self, callback) -> None:
        """Makes ``callback()`` give the recordings to come their names."""
        self.custom_trace_id_callback = callback

    # ---- Starting, stepping, stopping

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self) -> None:
        """Begins, with step 0."""
        if self.current_action in _RECORDS:
            self.start_trace()
        self._begin_step()

    def stop(self) -> None:
        """Ends; what is being recorded is handed to ``on_trace_ready``."""
        self._end_step()
        if self._recording():
            self.stop_trace()
            self._ready()

    def step(self) -> None:
        """Tells the profiler that the next step of the program begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        goes_on = self.current_action in _RECORDS
        if before is ProfilerAction.RECORD_AND_SAVE:
            self.stop_trace()
            self._ready()
        elif before is ProfilerAction.RECORD and not goes_on:
            warnings.warn(
                "Incorrect schedule: RECORD followed by " + self.current_action.name, stacklevel=2
            )
            self.stop_trace()
        if goes_on and not self._recording():
            self.start_trace()
        self._begin_step()

    def _ready(self) -> None:
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def _begin_step(self) -> None:
        if self.record_steps and self.current_action in _RECORDS:
            self.step_rec_fn = record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None
