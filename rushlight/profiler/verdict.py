"""The verdict on a recording: rows, findings, the steps they are of, and who holds memory."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from . import calibration
from .findings import findings
from .memory_timeline import holders
from .names import MODULE, NODE, OP, RANGE
from .rows import STEP, Reading, bound

_TOO_GOOD = 1.05  # of the limit of products: more is not to be had


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
    reading: Reading | None = None  # what the rows were made of
    threads: int = 1  # that ran ops; the rows are of the one with most events
    share: float = 1.0  # of the events, that those of this thread are

    def as_dict(self) -> dict:
        return {
            "version": 1,
            "machine": asdict(self.machine),
            "unit": self.unit,
            "threads": self.threads,
            "steps": self.all_steps,
            "steps_measured": self.steps,
            "seconds": self.span / self.steps,
            "rows": [
                {
                    "what": r.title,
                    "seconds": r.seconds / self.steps,
                    "bound": r.bound,
                    "of_limit": r.limit / r.seconds if r.seconds else None,
                    "flops": r.all_flops / self.steps,
                    "bytes": r.bytes / self.steps,
                    "ops": r.ops / self.steps,
                    "lines": [{"file": f, "line": n} for f, n in sorted(r.lines)],
                }
                for r in self.rows
            ],
            "findings": [f.as_dict() for f in self.findings],
        }


def module_names(recording) -> dict[int, str]:
    """``encoder.0``: names of modules within the outermost one that was called."""
    names: dict[int, str] = {}
    inside: list[bool] = []  # of a module's call
    for e in recording.events:
        outermost = e.parent < 0 or not inside[e.parent]
        inside.append(not outermost or e.kind == MODULE)
        if e.kind == MODULE and outermost and id(e.module) not in names:
            for name, module in e.module.named_modules():
                names.setdefault(id(module), name or type(module).__name__)
    for e in recording.events:
        if e.kind == MODULE and id(e.module) not in names:
            names[id(e.module)] = type(e.module).__name__
    return names


def _read(recording, machine, begin: int, end: int, thread: int):
    reading = Reading(recording, machine, begin, end, thread)
    rows = reading.read()
    for row in rows:
        bound(row, machine)
    return reading, rows


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
    ends = [e.end for e in mine if e.kind == RANGE and e.name.startswith(STEP)]
    skip = max(1, len(ends) // 10)
    if len(ends) - skip >= 2:
        begin, end = ends[skip - 1], ends[-1]
        times = [(b - a) * 1e-9 for a, b in zip(ends[skip - 1 :], ends[skip:], strict=False)]
        unit = "step"
    else:
        begin, end = min(e.begin for e in mine), max(e.end for e in mine)
        times, unit = [(end - begin) * 1e-9], "run"
    reading, rows = _read(recording, machine, begin, end, thread)
    reached = max((r.least_seconds(machine) / r.seconds for r in rows if r.seconds), default=0.0)
    if reached > _TOO_GOOD:  # the machine was busy when it was measured
        machine = calibration.machine(refresh=True, known_better=machine)
        reading, rows = _read(recording, machine, begin, end, thread)
    rows.sort(key=lambda r: -r.seconds)
    graph = any(e.kind == OP and e.sequence >= 0 for e in mine)
    unused = graph and not any(e.kind == NODE for e in mine)
    found = findings(rows, machine, module_names(recording), len(times), unused)
    steps, span = max(len(ends), 1), (end - begin) * 1e-9
    share = len(mine) / len(events)
    return Verdict(
        rows, found, machine, len(times), steps, times, span, unit, reading, len(counts), share
    )


def memory_report(recording) -> dict:
    """The peak of what was allocated, its parts, and who holds it: bytes, lines, modules."""
    held = holders(recording)
    parts: dict[str, int] = {}
    for h in held:
        parts[h.category] = parts.get(h.category, 0) + h.bytes
    names = module_names(recording)
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
