"""Where the time of a recording went: rows of what belongs together, and what bounds each."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from .memory_timeline import innermost_modules
from .names import NODE, OP, RANGE, op_name, records

COMPUTE, MEMORY, OVERHEAD, WAITING = "compute", "memory", "overhead", "waiting"
STEP = "Optimizer.step#"
_LOADER = "enumerate(DataLoader)#"
LOADER, PYTHON, WAITS, PROFILER = "DataLoader", "Python", "Python, or waits", "(the profiler)"
DATA = "torch.tensor"
_SHORT = 100e-6  # seconds; Python that takes no longer between two ops is call overhead


@dataclass
class Row:
    """What belongs together: an op with its backward, an optimizer, a loader, Python.

    ``seconds`` are of all steps; ``limit`` is the part of them that the machine's limit explains.
    """

    what: str
    seconds: float = 0.0
    forward: float = 0.0
    backward: float = 0.0
    flops: dict = field(default_factory=dict)  # by the bytes of one number
    bytes: float = 0.0
    ops: int = 0
    inner: int = 0  # what ran inside of them
    pointwise: bool = False
    chained: int = 0  # ops, of those, that follow another pointwise one
    workers: bool = False  # of a loader: whether other processes make the batches
    lines: dict = field(default_factory=dict)  # (file, line) -> seconds
    modules: dict = field(default_factory=dict)  # (file, line) -> {id: [module, seconds]}
    bound: str = OVERHEAD
    limit: float = 0.0
    rate: str = ""

    @property
    def all_flops(self) -> float:
        """Floating-point operations of all kinds of numbers."""
        return sum(self.flops.values())

    def least_seconds(self, machine) -> float:
        """What the products alone would take at the machine's limit."""
        return sum(n / machine.gflops_of(size) for size, n in self.flops.items()) * 1e-9

    @property
    def title(self) -> str:
        """``linear, fwd+bwd``."""
        if self.forward and self.backward:
            return f"{self.what}, fwd+bwd"
        return f"{self.what}, bwd" if self.backward else self.what

    @property
    def place(self):
        """The (file, line) that most of the time belongs to, or None."""
        return max(self.lines, key=self.lines.get) if self.lines else None

    @property
    def module(self):
        """The module that most of the time of that line belongs to, or None."""
        there = self.modules.get(self.place, {}).values()
        return max(there, key=lambda m: m[1], default=[None])[0]


class Reading:
    """A recording of one thread between two times, on its way to rows."""

    def __init__(self, recording, machine, begin: int, end: int, thread: int):
        self.recording, self.machine = recording, machine
        self.begin, self.end, self.thread = begin, end, thread
        self.rows: dict[str, Row] = {}
        self.gaps: dict = {}  # seconds of Python before each line
        self.modules = innermost_modules(recording)
        self.root: list[str | None] = []  # of each event, the row it belongs to
        self.of_sequence: dict[int, tuple] = {}  # row and line of a node's forward op
        self.children = [0] * len(recording.events)  # ns in what ran directly inside
        self.inside = [0] * len(recording.events)  # how many those are
        self.within = [0] * len(recording.events)  # and how many at any depth
        self.number = [4] * len(recording.events)  # bytes of the numbers that are computed with
        self.in_chain = False  # whether the last op was a pointwise one
        self.costs()

    def costs(self) -> None:
        """FLOPs and bytes of each event, by its record or else by what ran inside."""
        events = self.recording.events
        self.flops = [e.flops for e in events]
        most = [0] * len(events)  # FLOPs of the op inside that `number` is of
        self.moved = [self.recording.least_bytes(e) if e.kind == OP else 0 for e in events]
        inner_flops, inner_bytes = [0] * len(events), [0] * len(events)
        for i in range(len(events) - 1, -1, -1):
            e = events[i]
            if not inner_flops[i] and e.flops:
                self.number[i] = self.number_of(e)
            self.flops[i] = e.flops or inner_flops[i]
            self.moved[i] = self.moved[i] or inner_bytes[i]
            if e.parent >= 0:
                inner_flops[e.parent] += self.flops[i]
                inner_bytes[e.parent] += self.moved[i]
                self.children[e.parent] += max(e.end, e.begin) - e.begin
                self.inside[e.parent] += 1
                self.within[e.parent] += 1 + self.within[i]
                if self.flops[i] > most[e.parent]:
                    most[e.parent], self.number[e.parent] = self.flops[i], self.number[i]

    def number_of(self, e) -> int:
        """Bytes of one of the numbers that an op computes with."""
        sizes = [t.dtype.itemsize for t in self.recording.inputs(e) if t.dtype.is_floating_point]
        return min(sizes, default=4)

    def line(self, e):
        place = self.recording.place(e.origin)
        return (place[0], place[2]) if place else None

    def row(self, name: str) -> Row:
        if name not in self.rows:
            self.rows[name] = Row(name)
        return self.rows[name]

    def add(self, name: str, seconds: float, line, module, backward=False) -> Row:
        row = self.row(name)
        row.seconds += seconds
        if backward:
            row.backward += seconds
        else:
            row.forward += seconds
        if line is not None:
            row.lines[line] = row.lines.get(line, 0.0) + seconds
            if module is not None:
                there = row.modules.setdefault(line, {}).setdefault(id(module), [module, 0.0])
                there[1] += seconds
        return row

    def read(self) -> list[Row]:
        events = self.recording.events
        last = self.begin
        for i, e in enumerate(events):
            outer = self.root[e.parent] if e.parent >= 0 else None
            self.root.append(outer)
            inside = e.thread == self.thread and e.begin >= self.begin and e.end <= self.end
            name = self.name_of(i, e, outer)
            if not inside:
                continue
            if e.parent < 0:
                self.gap(e.begin - last, e)
                last = max(last, e.end)
            if outer is not None:
                continue  # its time is its root's
            seconds = (e.end - e.begin) * 1e-9
            if name is None:  # a module or a range: Python, less what ran inside
                own = e.end - e.begin - self.children[i]
                self.python(own, self.inside[i], self.line(e))
                continue
            written = min(0.5 * seconds, self.within[i] * self.machine.record_ns * 1e-9)
            if written:
                self.add(PROFILER, written, None, None)
            line, backward = self.line(e), e.kind == NODE
            row = self.add(name, seconds - written, line, self.modules[i], backward)
            row.workers |= name == LOADER and "MultiProcessing" in e.name
            size = self.number[i]
            row.flops[size] = row.flops.get(size, 0.0) + self.flops[i]
            row.bytes += self.moved[i]
            row.ops += 1
            row.inner += self.within[i]
            if e.kind == OP and records().get(e.name, {}).get("kind") == "pointwise":
                row.pointwise = True
            if e.kind == OP or e.sequence >= 0:
                row.chained += row.pointwise and self.in_chain
                self.in_chain = row.pointwise
        self.gap(self.end - last, None)
        self.close_gaps()
        return list(self.rows.values())

    def name_of(self, i: int, e, outer) -> str | None:
        """The row of an event; writes down what later events look for."""
        if outer is not None:
            name = outer
        elif e.kind == OP:
            name = op_name(e.name, self.recording.in_place(e)).removeprefix("aten::")
            name = DATA if name == "lift_fresh" else name
        elif e.kind == NODE:
            name = self.of_sequence.get(e.sequence)
            name = name or ("gradients into .grad" if e.sequence < 0 else e.name)
        elif e.kind == RANGE and e.name.startswith(STEP):
            name = e.name.removeprefix(STEP)
        elif e.kind == RANGE and e.name.startswith(_LOADER):
            name = LOADER
        elif e.kind == RANGE and e.name.startswith("aten::"):
            name = e.name.removeprefix("aten::")
        else:
            return None
        self.root[i] = name
        if e.kind == OP and e.sequence >= 0:
            self.of_sequence.setdefault(e.sequence, name)
        return name

    def gap(self, nanoseconds: int, following) -> None:
        line = None
        if following is not None and following.kind != NODE:
            line = self.line(following)
        self.python(nanoseconds, 1, line)

    def python(self, nanoseconds: float, records: int, line) -> None:
        """Time in which no op ran, of which writing down so many events took its part."""
        if nanoseconds <= 0:
            return
        own = min(nanoseconds, records * self.machine.record_ns)
        self.add(PROFILER, own * 1e-9, None, None)
        if nanoseconds > own:
            self.gaps.setdefault(line, []).append((nanoseconds - own) * 1e-9)

    def close_gaps(self) -> None:
        """A line before which Python mostly runs for long is one that waits for something."""
        for line, gaps in self.gaps.items():
            name = PYTHON if statistics.median(gaps) < _SHORT else WAITS
            self.add(name, sum(gaps), line, None).ops += len(gaps)


def calls(count: int) -> str:
    """``1 call``, ``2,000 calls``."""
    return f"{count:,} call" + "s" * (count != 1)


def in_cache(row: Row, machine) -> bool:
    """Whether a row's bytes moved faster than memory can."""
    return row.bytes > 1.05e9 * machine.gbytes * row.seconds


def bound(row: Row, machine) -> None:
    """What bounds a row, and how much of its time the limit explains."""
    if row.what in (LOADER, WAITS):
        row.bound = WAITING
        return
    if row.what in (PYTHON, PROFILER):
        row.bound = OVERHEAD
        return
    least = {
        COMPUTE: row.least_seconds(machine),
        MEMORY: row.bytes / (machine.gbytes * 1e9),
        OVERHEAD: (row.ops + row.inner) * machine.op_ns * 1e-9,
    }
    row.bound = max(least, key=least.get)
    row.limit = least[row.bound]
    if row.bound == COMPUTE:
        reached = row.all_flops / row.seconds * 1e-9
        # Of several kinds of numbers, the limit is that of their mixture.
        row.rate = f"{reached:.3g} of {row.all_flops / row.limit * 1e-9:.3g} GFLOP/s"
    elif row.bound == MEMORY:
        reached = row.bytes / row.seconds * 1e-9
        row.rate = f"{reached:.3g} of {machine.gbytes:.3g} GB/s"
        if in_cache(row, machine):
            row.rate = f"{reached:.3g} GB/s, in cache"
    else:
        each = row.seconds / max(row.ops, 1) * 1e6
        row.rate = f"{each:.0f}" if each >= 10 else f"{each:.2g}"
        row.rate += f" us each, {calls(row.ops)}"
