"""What a recording becomes for its reader: events, their averages, lists of both."""

from __future__ import annotations

import weakref
from collections import OrderedDict, namedtuple

from rushlight.profiler import table as _table

from .kinds import DeviceType
from .names import MODULE, NODE, OP, RANGE


class Interval:
    """A span of time in microseconds since the recording began."""

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Its length in microseconds."""
        return self.end - self.start


class FormattedTimesMixin:
    """Times as text and averages, from totals and a count; device times are those of no device."""

    cpu_time_str = property(lambda self: _table.format_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: _table.format_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: _table.format_time(self.self_cpu_time_total))
    device_time_str = property(lambda self: _table.format_time(self.device_time))
    device_time_total_str = property(lambda self: _table.format_time(self.device_time_total))
    self_device_time_total_str = property(
        lambda self: _table.format_time(self.self_device_time_total)
    )
    cpu_time = property(lambda self: self.cpu_time_total / self.count if self.count else 0.0)
    device_time = property(lambda self: self.device_time_total / self.count if self.count else 0.0)
    cuda_time = property(lambda self: self.device_time)
    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)
    cuda_memory_usage = property(lambda self: self.device_memory_usage)
    self_cuda_memory_usage = property(lambda self: self.self_device_memory_usage)


Kernel = namedtuple("Kernel", "name device duration")
_ACTIVITIES = {OP: "cpu_op", NODE: "cpu_op", MODULE: "python_function", RANGE: "user_annotation"}
_SELDOM = {
    "event_metadata": None,
    "extra_meta": None,
    "flow_id": 0,
    "flow_start": False,
    "flow_type": 0,
    "input_dtypes": (),
    "linked_correlation_id": 0,
    "metadata_json": "",
    "python_id": -1,
    "python_module_id": -1,
    "python_parent_id": -1,
    "self_cpu_percent": -1,
    "structured_input_shapes": (),
    "structured_input_strides": (),
    "total_cpu_percent": -1,
    "total_device_percent": -1,
}


class FunctionEvent(FormattedTimesMixin):
    """One op, graph node, module call or range that ran. Times are in microseconds."""

    def __init__(
        self,
        id,
        name,
        thread,
        start_us,
        end_us,
        overload_name=None,
        fwd_thread=None,
        input_shapes=None,
        stack=None,
        scope=0,
        use_device=None,
        cpu_memory_usage=0,
        device_memory_usage=0,
        is_async=False,
        is_remote=False,
        sequence_nr=-1,
        node_id=-1,
        device_type=DeviceType.CPU,
        device_index=0,
        device_resource_id=None,
        is_legacy=False,
        flops=None,
        trace_name=None,
        concrete_inputs=None,
        kwinputs=None,
        is_user_annotation=False,
        **others,
    ):
        self.id = id
        self.node_id = node_id
        self.name = name
        self.trace_name = name if trace_name is None else trace_name
        self.overload_name = overload_name or ""
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread or 0
        self.kernels = []
        self.count = 1
        self.cpu_children = []
        self.cpu_parent = None
        self.input_shapes = input_shapes if input_shapes is not None else []
        self.concrete_inputs = concrete_inputs or []
        self.kwinputs = kwinputs or {}
        self.stack = stack or []
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.is_async = is_async
        self.is_remote = is_remote
        self.sequence_nr = sequence_nr
        self.device_type = device_type
        self.device_index = device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy = is_legacy
        self.is_user_annotation = is_user_annotation
        self.flops = flops or 0
        self.bytes = 0  # the least that the op had to move
        self.place = None  # (file, function, line, ...) of the user's expression
        self._module = None
        self.kind = 0
        self.failed = False
        for key, value in others.items():
            if key not in _SELDOM:
                raise TypeError(
                    f"FunctionEvent.__init__() got an unexpected keyword argument {key!r}"
                )
            setattr(self, key, value)

    def __getattr__(self, name):
        # What is set in few events is not kept in all of them.
        if name in _SELDOM:
            return _SELDOM[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    key = property(lambda self: self.name)
    cpu_time_total = property(lambda self: 0 if self.is_async else self.time_range.elapsed_us())
    device_time_total = 0
    self_device_time_total = 0
    self_device_memory_usage = 0

    @property
    def module(self):
        """The innermost module that ran, while the program or the recording has it.

        Events know their children and their parents: they would keep it for the collector.
        """
        return None if self._module is None else self._module()

    @module.setter
    def module(self, module) -> None:
        self._module = None if module is None else weakref.ref(module)

    @property
    def self_cpu_time_total(self) -> float:
        """Time that none of what ran inside accounts for."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated less released, without what ran inside."""
        return self.cpu_memory_usage - sum(c.cpu_memory_usage for c in self.cpu_children)

    @property
    def activity_type(self) -> str:
        """``cpu_op``, ``user_annotation`` or ``python_function``."""
        return "user_annotation" if self.is_user_annotation else _ACTIVITIES[self.kind]

    @property
    def external_id(self) -> int:
        """The number under which a trace knows it."""
        return self.id

    @property
    def is_python_function(self) -> bool:
        """Whether it is a module's call."""
        return self.kind == MODULE

    def append_kernel(self, name, device, duration) -> None:
        """Notes a kernel that it launched on a device."""
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child) -> None:
        """Puts an event inside this one."""
        self.cpu_children.append(child)
        child.cpu_parent = self

    def set_cpu_parent(self, parent) -> None:
        """Says which event it is inside of."""
        self.cpu_parent = parent

    def __repr__(self):
        children = [c.id for c in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type=DeviceType.CPU node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={children} {self.use_device}_time={self.device_time_str} "
            f"name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"{self.use_device}_memory_usage={self.device_memory_usage} is_async={self.is_async} "
            f"is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


_SUMS = (
    "cpu_time_total self_cpu_time_total device_time_total self_device_time_total "
    "cpu_memory_usage self_cpu_memory_usage device_memory_usage self_device_memory_usage "
    "count flops bytes"
).split()


class FunctionEventAvg(FormattedTimesMixin):
    """Events of one key, summed up."""

    def __init__(self):
        self.key = None
        self.count = 0
        self.node_id = 0
        self.is_async = self.is_remote = self.is_legacy = self.is_user_annotation = False
        self.use_device = None
        self.cpu_time_total = self.self_cpu_time_total = 0
        self.device_time_total = self.self_device_time_total = 0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.input_shapes = None
        self.overload_name = None
        self.stack = None
        self.scope = None
        self.cpu_children = None
        self.cpu_parent = None
        self.device_type = DeviceType.CPU
        self.flops = 0
        self.bytes = 0

    def add(self, other):
        """Adds an event or an average of the same key."""
        if self.key is None:
            self.key = other.key
            for name in (
                "node_id is_async is_remote is_legacy is_user_annotation use_device input_shapes "
                "overload_name stack scope cpu_children cpu_parent device_type"
            ).split():
                setattr(self, name, getattr(other, name))
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self):
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage}>"
        )


class EventList(list):
    """Events, or averages of them, that can be summed up, shown and written out."""

    def __init__(self, *args, use_device=None, profile_memory=False, with_flops=False):
        super().__init__(*args)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    def __str__(self):
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events together."""
        return sum(e.self_cpu_time_total for e in self)

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
        time_unit=None,
    ) -> str:
        """The events as text.

        Args:
            sort_by: the key to sort by, largest first: ``cpu_time``, ``cpu_time_total``,
                ``self_cpu_time_total``, ``cpu_memory_usage``, ``self_cpu_memory_usage``,
                ``count`` and their like.
            row_limit: rows to show at most.
            header: a line above the table.
            top_level_events_only: leaves out what ran inside of something else.
            time_unit: ``s``, ``ms`` or ``us`` for all rows; by default each row's own.
        """
        return _table.build(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            widest=(max_name_column_width, max_shapes_column_width, max_src_column_width),
            header=header,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def key_averages(
        self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False
    ) -> EventList:
        """Events of one name (shapes, innermost lines of the stack) summed up."""
        groups = OrderedDict()
        for event in self:
            key = [event.key, event.is_user_annotation]
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_stack_n > 0:
                key.append(tuple(event.stack[:group_by_stack_n]))
            if group_by_overload_name:
                key.append(event.overload_name)
            groups.setdefault(tuple(key), FunctionEventAvg()).add(event)
        averages = EventList(
            groups.values(), profile_memory=self._profile_memory, with_flops=self._with_flops
        )
        for average in averages:
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        return averages

    def total_average(self) -> FunctionEventAvg:
        """All events as one, under the key ``Total``."""
        total = FunctionEventAvg()
        for event in self:
            total += event
            total.key = None
        total.key = "Total"
        return total

    def export_chrome_trace(self, path) -> None:
        """Writes the events for chrome://tracing and Perfetto."""
        from . import trace

        trace.write(path, trace.as_trace(self))

    def export_stacks(self, path, metric="self_cpu_time_total") -> None:
        """Writes stacks with a metric each, one per line, as flame graph tools read them."""
        from . import trace

        trace.write_stacks(self, path, metric)

    @staticmethod
    def supported_export_stacks_metrics() -> list[str]:
        """What `export_stacks` can measure by."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total"]
