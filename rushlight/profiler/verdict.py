"""Where the time of a recording went, what held it up, and how much there is to gain at most."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from pathlib import Path

from .memory_timeline import holders, innermost_modules
from .names import MODULE, NODE, OP, RANGE, op_name, records

COMPUTE, MEMORY, OVERHEAD, WAITING = "compute", "memory", "overhead", "waiting"
_STEP = "Optimizer.step#"
_LOADER = "enumerate(DataLoader)#"
_COPIES = frozenset(("contiguous", "clone", "copy_", "reshape", "to", "_to_copy"))
PYTHON, WAITS, PROFILER = "Python", "Python, or waits", "(the profiler)"
_SHORT = 100e-6  # seconds; Python that takes no longer between two ops is call overhead
_MOST_FINDINGS = 5


@dataclass
class Row:
    """What belongs together: an op with its backward, an optimizer, a loader, Python.

    ``seconds`` are of all steps; ``limit`` is the part of them that the machine's limit explains.
    """

    what: str
    seconds: float = 0.0
    forward: float = 0.0
    backward: float = 0.0
    flops: float = 0.0
    bytes: float = 0.0
    ops: int = 0
    pointwise: bool = False
    lines: dict = field(default_factory=dict)  # (file, line) -> seconds
    modules: dict = field(default_factory=dict)  # (file, line) -> {id: [module, seconds]}
    bound: str = OVERHEAD
    limit: float = 0.0
    rate: str = ""

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


@dataclass
class Finding:
    """Something to gain: what it is, where, how much at most, what to try."""

    kind: str
    what: str
    place: tuple | None
    module: str | None
    gain: float  # seconds per step, at most; not measured
    advice: str

    def as_dict(self) -> dict:
        return {
            "kind": self.kind,
            "what": self.what,
            "file": self.place[0] if self.place else None,
            "line": self.place[1] if self.place else None,
            "module": self.module,
            "at_most_seconds": self.gain,
            "try": self.advice,
        }


@dataclass
class Verdict:
    """Rows, longest first, and findings, most to gain first; seconds are per step."""

    rows: list
    findings: list
    machine: object
    steps: int  # that the rows are of
    all_steps: int
    step_times: list  # seconds of each
    span: float
    unit: str = "step"

    def as_dict(self) -> dict:
        from dataclasses import asdict

        return {
            "version": 1,
            "machine": asdict(self.machine),
            "unit": self.unit,
            "steps": self.all_steps,
            "steps_measured": self.steps,
            "seconds": self.span / self.steps,
            "rows": [
                {
                    "what": r.title,
                    "seconds": r.seconds / self.steps,
                    "bound": r.bound,
                    "of_limit": r.limit / r.seconds if r.seconds else None,
                    "flops": r.flops / self.steps,
                    "bytes": r.bytes / self.steps,
                    "ops": r.ops / self.steps,
                    "lines": [{"file": f, "line": n} for f, n in sorted(r.lines)],
                }
                for r in self.rows
            ],
            "findings": [f.as_dict() for f in self.findings],
        }


class _Reading:
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
        self.costs()

    def costs(self) -> None:
        """FLOPs and bytes of each event, by its record or else by what ran inside."""
        events = self.recording.events
        self.flops = [e.flops for e in events]
        self.moved = [self.recording.least_bytes(e) if e.kind == OP else 0 for e in events]
        inner_flops, inner_bytes = [0] * len(events), [0] * len(events)
        for i in range(len(events) - 1, -1, -1):
            e = events[i]
            self.flops[i] = e.flops or inner_flops[i]
            self.moved[i] = self.moved[i] or inner_bytes[i]
            if e.parent >= 0:
                inner_flops[e.parent] += self.flops[i]
                inner_bytes[e.parent] += self.moved[i]
                self.children[e.parent] += max(e.end, e.begin) - e.begin
                self.inside[e.parent] += 1

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
            line, backward = self.line(e), e.kind == NODE
            row = self.add(name, seconds, line, self.modules[i], backward)
            row.flops += self.flops[i]
            row.bytes += self.moved[i]
            row.ops += 1
            if e.kind == OP and records().get(e.name, {}).get("kind") == "pointwise":
                row.pointwise = True
        self.gap(self.end - last, None)
        self.close_gaps()
        return list(self.rows.values())

    def name_of(self, i: int, e, outer) -> str | None:
        """The row of an event; writes down what later events look for."""
        if outer is not None:
            name = outer
        elif e.kind == OP:
            name = op_name(e.name, self.recording.in_place(e)).removeprefix("aten::")
        elif e.kind == NODE:
            name = self.of_sequence.get(e.sequence)
            name = name or ("gradients into .grad" if e.sequence < 0 else e.name)
        elif e.kind == RANGE and e.name.startswith(_STEP):
            name = e.name.removeprefix(_STEP)
        elif e.kind == RANGE and e.name.startswith(_LOADER):
            name = "DataLoader"
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


def _judge(row: Row, machine) -> None:
    """What bounds a row, and how much of its time the limit explains."""
    if row.what in ("DataLoader", WAITS):
        row.bound = WAITING
        return
    if row.what in (PYTHON, PROFILER):
        row.bound = OVERHEAD
        return
    least = {
        COMPUTE: row.flops / (machine.gflops * 1e9),
        MEMORY: row.bytes / (machine.gbytes * 1e9),
        OVERHEAD: row.ops * machine.op_ns * 1e-9,
    }
    row.bound = max(least, key=least.get)
    row.limit = least[row.bound]
    if row.bound == COMPUTE:
        reached = row.flops / row.seconds * 1e-9
        row.rate = f"{reached:.3g} of {machine.gflops:.3g} GFLOP/s"
    elif row.bound == MEMORY:
        reached = row.bytes / row.seconds * 1e-9
        row.rate = f"{reached:.3g} of {machine.gbytes:.3g} GB/s"
        if reached > 1.05 * machine.gbytes:
            row.rate = f"{reached:.3g} GB/s, in cache"
    else:
        row.rate = f"{row.seconds / max(row.ops, 1) * 1e6:.2g} us each, {row.ops:,} calls"


def _findings(rows, machine, names, steps: int, learns: bool, graph: bool) -> list[Finding]:
    found = []

    def add(row, kind, what, seconds, advice):
        if seconds > 0:
            module = names.get(id(row.module)) if row.module is not None else None
            found.append(Finding(kind, what, row.place, module, seconds / steps, advice))

    for row in rows:
        slack = max(0.0, row.seconds - row.limit)
        if row.what == "DataLoader":
            add(
                row, WAITING, "the program waits for its DataLoader", row.seconds,
                "DataLoader(num_workers=2) or more, so that batches are made meanwhile",
            )  # fmt: skip
        elif row.what == PROFILER:
            continue
        elif row.what == WAITS:
            add(
                row, WAITING, "no op runs before this line: Python, or what it waits for",
                row.seconds, "move this work out of the step, or do it on whole tensors",
            )  # fmt: skip
        elif row.what == PYTHON:
            add(
                row, OVERHEAD, f"Python between {row.ops // steps:,} calls", row.seconds,
                "one op over a stack of tensors in place of a loop, or a larger batch",
            )  # fmt: skip
        elif row.bound == OVERHEAD:
            add(
                row, OVERHEAD, f"{row.ops // steps:,} calls of {row.what} on little data", slack
                + row.limit * (1 - 1 / max(row.ops, 1)),
                "one op over a stack of them in place of a loop, or a larger batch",
            )  # fmt: skip
        elif row.bound == MEMORY and row.what in _COPIES:
            add(
                row, MEMORY, f"{row.what} copies {row.bytes / 2 / steps / 2**20:.3g} MiB",
                row.seconds, "fewer permute/transpose before contiguous, reshape and clone",
            )  # fmt: skip
        elif row.bound == MEMORY and row.pointwise:
            add(
                row, MEMORY, f"{row.what} moves {row.bytes / steps / 2**20:.3g} MiB",
                row.seconds * (1 - 1 / max(row.ops / steps, 1)),
                "one fused op for a chain of these (addcmul, lerp, gelu ...), or pieces that "
                "stay in cache",
            )  # fmt: skip
        elif row.bound == MEMORY and row.ops > 1:
            add(
                row, MEMORY, f"{row.what} moves {row.bytes / steps / 2**20:.3g} MiB",
                row.seconds / 2, "bfloat16 (half the bytes), or pieces that stay in cache",
            )  # fmt: skip
        elif row.bound == COMPUTE:
            half = machine.bfloat16 and row.limit > 0.5 * row.seconds
            advice = "bfloat16 autocast" if half else "larger matrices: a larger batch"
            add(
                row, COMPUTE, f"{row.title}: {row.flops / steps * 1e-9:.3g} GFLOP",
                row.seconds / 2 if half else max(slack, row.seconds * 0.05), advice,
            )  # fmt: skip
    if graph and not learns:
        total = sum(r.ops for r in rows)
        first = next((r for r in rows if r.lines), None)
        if first is not None:
            add(
                first, OVERHEAD, "a graph is recorded that no backward pass walks",
                total * machine.op_ns * 1e-9, "torch.inference_mode() around it",
            )  # fmt: skip
    found.sort(key=lambda f: -f.gain)
    return found[:_MOST_FINDINGS]


def _module_names(recording) -> dict[int, str]:
    """``encoder.0``: names of modules within the outermost one that was called."""
    names: dict[int, str] = {}
    for e in recording.events:
        if e.kind == MODULE and e.parent < 0 and id(e.module) not in names:
            for name, module in e.module.named_modules():
                names.setdefault(id(module), name or type(module).__name__)
    for e in recording.events:
        if e.kind == MODULE and id(e.module) not in names:
            names[id(e.module)] = type(e.module).__name__
    return names


def judge(recording, machine) -> Verdict | None:
    """The verdict on a recording with tensors, nodes and modules; None where nothing ran."""
    events = [e for e in recording.events if not e.open]
    if not events:
        return None
    counts: dict[int, int] = {}
    for e in events:
        counts[e.thread] = counts.get(e.thread, 0) + 1
    thread = max(counts, key=counts.get)
    mine = [e for e in events if e.thread == thread]
    ends = [e.end for e in mine if e.kind == RANGE and e.name.startswith(_STEP)]
    skip = max(1, len(ends) // 10)
    if len(ends) - skip >= 2:
        begin, end = ends[skip - 1], ends[-1]
        times = [(b - a) * 1e-9 for a, b in zip(ends[skip - 1 :], ends[skip:], strict=False)]
        unit = "step"
    else:
        begin, end = min(e.begin for e in mine), max(e.end for e in mine)
        times, unit = [(end - begin) * 1e-9], "run"
    rows = _Reading(recording, machine, begin, end, thread).read()
    for row in rows:
        _judge(row, machine)
    rows.sort(key=lambda r: -r.seconds)
    learns = any(e.kind == NODE for e in mine)
    graph = any(e.kind == OP and e.sequence >= 0 for e in mine)
    found = _findings(rows, machine, _module_names(recording), len(times), learns, graph)
    return Verdict(
        rows, found, machine, len(times), max(len(ends), 1), times, (end - begin) * 1e-9, unit
    )


# ---- As text


def _lines(row: Row, width: int = 9) -> str:
    numbers = sorted({n for _, n in row.lines}, key=lambda n: n)
    if len({f for f, _ in row.lines}) > 1:
        file, line = row.place
        return f"{Path(file).name}:{line}"[-width:]
    text = ""
    for at, n in enumerate(numbers):
        more = f" {n}" if text else str(n)
        if len(text) + len(more) > width - (2 if at + 1 < len(numbers) else 0):
            return text + " +"
        text += more
    return text


def _milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:.1f}" if value >= 1 else f"{value:.3f}"


def memory_report(recording) -> dict:
    """The peak of what was allocated, its parts, and who holds it: bytes, lines, modules."""
    held = holders(recording)
    parts: dict[str, int] = {}
    for h in held:
        parts[h.category] = parts.get(h.category, 0) + h.bytes
    names = _module_names(recording)
    return {
        "peak": sum(parts.values()),
        "categories": parts,
        "holders": [
            {
                "bytes": h.bytes,
                "category": h.category,
                "file": h.place[0] if h.place else None,
                "line": h.place[2] if h.place else None,
                "module": names.get(id(h.module)) if h.module is not None else None,
                "count": h.count,
            }
            for h in held[:20]
        ],
    }


def _memory_lines(memory: dict) -> list[str]:
    if not memory["holders"]:
        return []
    parts = sorted(memory["categories"].items(), key=lambda p: -p[1])[:3]
    text = ", ".join(f"{count / 2**20:.1f} {name}" for name, count in parts)
    first = memory["holders"][0]
    where = f"{Path(first['file']).name}:{first['line']}" if first["file"] else "no line"
    if first["module"]:
        where += f" in {first['module']}"
    return _wrapped(
        f"Memory: peak {memory['peak'] / 2**20:.1f} MiB ({text}); most of it, "
        f"{first['bytes'] / 2**20:.1f} MiB, from {where}"
    )


def as_text(verdict: Verdict, most_rows: int = 5, memory: dict | None = None) -> str:
    """The verdict in lines of 80 columns, and the peak of memory if it is given."""
    v = verdict
    if v.unit == "step":
        times = sorted(v.step_times)
        low, high = times[len(times) // 20], times[-1 - len(times) // 20]
        head = (
            f"-- profile: {v.all_steps} steps, {_milliseconds(statistics.median(times))} ms each "
            f"(median of {v.steps}; {_milliseconds(low)} to {_milliseconds(high)}), "
        )
    else:
        head = f"-- profile: {_milliseconds(v.span)} ms from the first op to the last, "
    count = v.machine.threads
    head += f"{count} thread{'s' if count > 1 else ''} "
    out = [head.ljust(78, "-")]
    out.append(
        f" {'ms/' + v.unit:>7} {'%':>2}  {'what':<19} {'lines':<9} {'bound by':<9} of the limit"
    )
    shown, rest = v.rows[:most_rows], v.rows[most_rows:]
    for r in shown:
        share = 100 * r.seconds / v.span
        limit = f"{100 * r.limit / r.seconds:3.0f} %  {r.rate}" if r.rate else ""
        if r.bound == OVERHEAD:
            limit = r.rate
        out.append(
            f" {_milliseconds(r.seconds / v.steps):>7} {share:2.0f}  {r.title[:19]:<19} "
            f"{_lines(r):<9} {r.bound:<9} {limit}".rstrip()
        )
    if rest:
        seconds = sum(r.seconds for r in rest)
        out.append(
            f" {_milliseconds(seconds / v.steps):>7} {100 * seconds / v.span:2.0f}  "
            "the rest (--all)"
        )
    for number, f in enumerate(v.findings, 1):
        where = f"{Path(f.place[0]).name}:{f.place[1]}" if f.place else ""
        if f.module:
            where += f" in {f.module}"
        head = "Try: " if number == 1 else "     "
        out += _wrapped(f"{head}{number}. {where}  {f.what}".rstrip())
        out += _wrapped(
            f"        {f.advice}: at most {_milliseconds(f.gain)} ms to gain, not measured"
        )
    if memory:
        out += _memory_lines(memory)
    out.append(f"Limits of this machine measured on {v.machine.date}.")
    return "\n".join(out)


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(
        text, 80, subsequent_indent=" " * 8, drop_whitespace=True, break_on_hyphens=False
    ) or [text]
