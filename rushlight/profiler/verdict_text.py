"""The verdict in lines of 80 columns."""

from __future__ import annotations

import statistics
import textwrap
from pathlib import Path

from .rows import OVERHEAD, Row


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


def _unit(count: int) -> tuple[str, int]:
    for name, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if count >= size:
            return name, size
    return "KiB", 1 << 10


def _memory_lines(memory: dict) -> list[str]:
    if not memory["holders"]:
        return []
    parts = sorted(memory["categories"].items(), key=lambda p: -p[1])[:3]
    unit = _unit(memory["peak"])
    text = ", ".join(f"{count / unit[1]:.1f} {name}" for name, count in parts if count)
    first = memory["holders"][0]
    where = f"{Path(first['file']).name}:{first['line']}" if first["file"] else "no line"
    if first["module"]:
        where += f" in {first['module']}"
    return _wrapped(
        f"Memory: peak {memory['peak'] / unit[1]:.1f} {unit[0]} ({text}); most of it, "
        f"{first['bytes'] / unit[1]:.1f} {unit[0]}, from {where}"
    )


def _head(v) -> list[str]:
    count = v.machine.threads
    threads = f"{count} thread{'s' if count > 1 else ''} "
    if v.unit == "step":
        times = sorted(v.step_times)
        low, high = times[len(times) // 20], times[-1 - len(times) // 20]
        middle, mean = statistics.median(times), statistics.mean(times)
        if mean < 1.5 * middle:
            said = f"{_milliseconds(middle)} ms each (median of {v.steps}; "
        else:  # the rows, which are means, would not fit to it
            said = f"{_milliseconds(mean)} ms each on average ("
        text = f"{v.all_steps} steps, {said}{_milliseconds(low)} to {_milliseconds(high)})"
    else:
        text = f"{_milliseconds(v.span)} ms from the first op to the last"
    return [
        f"-- profile: {text}, {threads}".ljust(78, "-"),
        f" {'ms/' + v.unit:>7} {'%':>2}  {'what':<19} {'lines':<9} {'bound by':<9} of the limit",
    ]


def _row(r: Row, v) -> str:
    limit = f"{100 * r.limit / r.seconds:3.0f} %  {r.rate}" if r.rate else ""
    if r.bound == OVERHEAD or r.rate.endswith("in cache"):
        limit = r.rate
    return (
        f" {_milliseconds(r.seconds / v.steps):>7} {100 * r.seconds / v.span:2.0f}  "
        f"{r.title[:19]:<19} {_lines(r):<9} {r.bound:<9} {limit}"
    ).rstrip()


def _advice(number: int, f, first: str) -> list[str]:
    where = f"{Path(f.place[0]).name}:{f.place[1]}" if f.place else ""
    if f.module:
        where += f" in {f.module}"
    head = first if number == 1 else "     "
    gain = f"at most {_milliseconds(f.gain)} ms to gain, not measured"
    return [
        *_wrapped(f"{head}{number}. {where}  {f.what}".rstrip()),
        *_wrapped(f"        {f.advice}: {gain}"),
    ]


def _measured(finding, trials) -> bool:
    """Whether what a finding says to try was tried."""
    changes = [t.name.partition("(")[0] for t in trials if t.comparison is not None]
    return any(name in finding.advice for name in changes)


def as_text(v, most_rows: int = 5, memory: dict | None = None, trials=(), tried=()) -> str:
    """A verdict as text: with the peak of memory, and with what was measured, if they are given.

    trials: what was tried; tried: what is to be said of it, in lines.
    """
    out = _head(v)
    out += [_row(r, v) for r in v.rows[:most_rows]]
    rest = sum(r.seconds for r in v.rows[most_rows:])
    if rest:
        share = 100 * rest / v.span
        out.append(f" {_milliseconds(rest / v.steps):>7} {share:2.0f}  the rest (--all)")
    if v.threads > 1:
        out += _wrapped(
            f"{v.threads} threads ran ops; this is the one with most, {v.share:.0%} of all events."
        )
    out += tried
    left = [f for f in v.findings if not _measured(f, trials)]
    for number, finding in enumerate(left, 1):
        out += _advice(number, finding, "And: " if trials else "Try: ")
    if memory:
        out += _memory_lines(memory)
    out.append(f"Limits of this machine measured on {v.machine.date}.")
    return "\n".join(out)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, 80, subsequent_indent=" " * 8, drop_whitespace=True, break_on_hyphens=False
    ) or [text]
