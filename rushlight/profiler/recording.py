"""A recording of the core as a list of function events, with PyTorch's names and nesting."""

from __future__ import annotations

import gc
from collections import namedtuple

from rushlight import _C

from .function_events import EventList, FunctionEvent
from .names import MODULE, NODE, OP, RANGE, ModuleNames, node_name, op_name, records

Raw = namedtuple(
    "Raw",
    "kind name module thread modes parent begin end origin sequence allocated released flops moved "
    "failed open first inputs results changed",
)
Seen = namedtuple("Seen", "dtype size stride tensor storage made_by offset bytes version flags")

_SCOPES = {OP: 0, NODE: 1, MODULE: 0, RANGE: 7}
_UNKNOWN = 1 << 63


class Recording:
    """One run of a recorder, read. Tensors and memory are there if they were recorded."""

    def __init__(self, recorder):
        self.events = [Raw(*e) for e in recorder.events()]
        self.tensors = [Seen(*t) for t in recorder.tensors()]
        self.memory = recorder.memory()
        self._places = {}

    def place(self, origin: int):
        """(file, function, line, end line, column, end column) of an origin, or None."""
        if origin not in self._places:
            self._places[origin] = _C._place(origin) if origin else None
        return self._places[origin]

    def inputs(self, e: Raw) -> list[Seen]:
        """The tensors that an op was given."""
        return self.tensors[e.first : e.first + e.inputs]

    def results(self, e: Raw) -> list[Seen]:
        """The tensors that an op gave back."""
        return self.tensors[e.first + e.inputs : e.first + e.inputs + e.results]

    def in_place(self, e: Raw) -> bool:
        """Whether an op changed its first input, and is not named for it."""
        return e.kind == OP and e.changed

    def least_bytes(self, e: Raw) -> int:
        """What an op has to read and write at least: its record's figure, else its tensors'."""
        if e.moved:
            return e.moved
        record = records().get(e.name, {})
        kind = record.get("kind")
        if kind in ("view", "composite", None):
            return 0
        read = sum({t.tensor: t.bytes for t in self.inputs(e)}.values())
        if kind == "effect":  # a step reads all its lists and writes those that are marked
            lists, written = record["signature"].count("[]"), record["signature"].count("!)[]")
            return read + (read * written // lists if written else 0)
        # A result counts once: a line that is written whole need not be read.
        return read + sum(t.bytes for t in self.results(e))


def shapes_of(recording: Recording, e: Raw) -> list:
    """The sizes of each argument, as PyTorch lists them: ``[]`` for what is no tensor."""
    record = records().get(e.name)
    given = [list(t.size) for t in recording.inputs(e)]
    if record is None:
        return given
    signature = _parameters(record)
    if e.name == "_linear_addmm" and len(given) == 3:
        return [given[2], given[0], given[1][::-1], [], []]
    if e.name == "_linear_view" and len(given) == 3:
        return [given[2], _rows(given[0]), given[1][::-1], [], []]
    if e.name.startswith("_linear_") and e.name != "_linear_backward":
        return [_rows(given[0]), given[1][::-1]]
    needed = sum(kind == "tensor" for kind in signature)
    spare = len(given) - needed
    lists = signature.count("list")
    each = spare // lists if lists and spare % lists == 0 else spare
    out, at = [], 0
    for kind in signature:
        take = 0
        if kind == "tensor":
            take = 1
        elif kind == "optional" and spare > 0:
            take, spare = 1, spare - 1
        elif kind == "list":
            take = max(min(each, spare), 0)
            spare -= take
            out.append(given[at : at + take])
            at += take
            continue
        out.append(given[at] if take and at < len(given) else [])
        at += take
    return out


def _rows(size: list) -> list:
    count = 1
    for n in size[:-1]:
        count *= n
    return [count, size[-1]]


def _element_flops(recording: Recording, e: Raw) -> int:
    """Of element-wise sums and products, one per element of the result, as PyTorch counts."""
    if e.name.partition(".")[0] not in ("add", "mul"):
        return 0
    count = 1
    for n in recording.results(e)[0].size if e.results else (0,):
        count *= n
    return count


_parameter_kinds: dict = {}


def _parameters(record: dict) -> list[str]:
    """Of each parameter: tensor, optional (tensor), list (of tensors) or other."""
    found = _parameter_kinds.get(record["name"])
    if found is None:
        inside = record["signature"].partition("(")[2].rpartition(" -> ")[0].rstrip(")")
        found = []
        for text in inside.split(", "):
            if text == "*":
                continue
            word = text.split(" ")[0]
            if text.startswith("Generator? ") and "Device? device" in inside:
                continue  # PyTorch's have an overload for it
            if text.startswith("Device? device") and "layout" not in inside:
                # PyTorch's have layout and pin_memory, too.
                found += ["other"] * (1 if record["name"] == "_to_copy" else 2)
            if not word.startswith("Tensor"):
                found.append("other")
            else:
                last = "list" if "[]" in word else "optional" if word.endswith("?") else "tensor"
                found.append(last)
        _parameter_kinds[record["name"]] = found
    return found


def stack_line(place) -> str:
    """``train.py(12): step``, as PyTorch writes a frame."""
    return f"{place[0]}({place[2]}): {place[1]}"


def function_events(recording: Recording, **wanted) -> EventList:
    """The events of a recording in order of their beginning.

    wanted: ``shapes``, ``memory``, ``stacks``, ``flops``, ``modules``, each False unless given.
    """
    # Nothing made here is garbage; the collector would walk all of it again and again.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _Builder(recording, **wanted).build()
    finally:
        if collects:
            gc.enable()


class _Builder:
    """Makes function events of raw ones, each inside of what it ran in."""

    def __init__(
        self, recording, shapes=False, memory=False, stacks=False, flops=False, modules=False
    ):
        self.recording = recording
        self.shapes, self.memory, self.stacks = shapes, memory, stacks
        self.flops, self.modules = flops, modules
        self.out = EventList(profile_memory=memory, with_flops=flops)
        self.names = ModuleNames()
        self.by_sequence: dict[int, FunctionEvent] = {}

    def build(self) -> EventList:
        made: list[FunctionEvent | None] = []  # of each raw event: what later ones lie inside
        module_of: list = []
        for raw in self.recording.events:
            outer = made[raw.parent] if raw.parent >= 0 else None
            module = module_of[raw.parent] if raw.parent >= 0 else None
            if raw.kind == MODULE:
                module = raw.module
            event = outer
            if raw.kind != MODULE or self.modules:
                event = self.event(raw, outer)
                event.module = event.module or module
                if self.stacks and event.place is not None:
                    event.stack = _stack(event)
            made.append(event)
            module_of.append(module)
        if self.memory:
            _add_loose_memory(self.recording, self.out)
        return self.out

    def add(self, raw: Raw, name: str, outer, scope: int = 0) -> FunctionEvent:
        begin, end = raw.begin / 1000, max(raw.begin, raw.end) / 1000
        event = FunctionEvent(len(self.out) + 1, name, raw.thread + 1, begin, end)
        event.scope = scope
        event.kind = raw.kind
        event.failed = raw.failed
        event.sequence_nr = raw.sequence
        event.cpu_memory_usage = raw.allocated - raw.released
        event.place = self.recording.place(raw.origin)
        if outer is not None:
            outer.append_cpu_child(event)
        self.out.append(event)
        return event

    def event(self, raw: Raw, outer) -> FunctionEvent:
        if raw.kind == OP:
            return self.op(raw, outer)
        if raw.kind == NODE:
            return self.node(raw, outer)
        if raw.kind == MODULE:
            return self.add(raw, self.names(raw.module), outer)
        if raw.name.startswith("aten::"):  # an op that Python composes of others
            event = self.add(raw, raw.name, outer)
            event.kind = OP
            return event
        event = self.add(raw, raw.name, outer, _SCOPES[RANGE])
        if raw.name.startswith("ProfilerStep#"):
            event.name = "ProfilerStep*"
        event.is_user_annotation = True
        return event

    def op(self, raw: Raw, outer) -> FunctionEvent:
        recording = self.recording
        name = op_name(raw.name, recording.in_place(raw))
        if name == "aten::_to_copy" and (outer is None or outer.name != "aten::to"):
            name = "aten::to"  # the one op that a conversion is here
        event = self.add(raw, name, outer)
        event.overload_name = raw.name.partition(".")[2]
        event.flops = raw.flops or (_element_flops(recording, raw) if self.flops else 0)
        if self.shapes:
            nested = shapes_of(recording, raw)
            event.structured_input_shapes = nested
            event.input_shapes = [[] if s and isinstance(s[0], list) else s for s in nested]
        event.bytes = recording.least_bytes(raw) if raw.inputs or raw.results else raw.moved
        if raw.sequence >= 0:
            self.by_sequence.setdefault(raw.sequence, event)
        return event

    def node(self, raw: Raw, outer) -> FunctionEvent:
        """The node's run, inside of the engine's turn for it; both know their forward op."""
        name = node_name(raw.name)
        around = self.add(raw, f"autograd::engine::evaluate_function: {name}", outer)
        event = self.add(raw, name, around, _SCOPES[NODE])
        forward = self.by_sequence.get(raw.sequence)
        if forward is not None:
            around.fwd_thread = event.fwd_thread = forward.thread
            around.module = event.module = forward.module
        return event


def _stack(event: FunctionEvent) -> list[str]:
    """The user's line, then those of the ranges and modules around it, innermost first."""
    lines = [stack_line(event.place)]
    outer = event.cpu_parent
    while outer is not None:
        if outer.kind == MODULE:
            lines.append(outer.name)
        elif outer.place is not None and stack_line(outer.place) != lines[-1]:
            lines.append(stack_line(outer.place))
        outer = outer.cpu_parent
    return lines


def _add_loose_memory(recording: Recording, out: EventList) -> None:
    """What was allocated and released outside of any event, each as ``[memory]``."""
    for time, event, count, _storage, _origin in recording.memory:
        if event == -1:
            loose = FunctionEvent(len(out) + 1, "[memory]", 1, time / 1000, time / 1000)
            loose.cpu_memory_usage = count
            out.append(loose)
    out.sort(key=lambda e: e.time_range.start)
