"""Profiler tables as text, in PyTorch's columns and widths."""

from __future__ import annotations

import math

_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def format_time(us: float, unit: str | None = None) -> str:
    """Microseconds in the unit that suits them, or in the one given."""
    for name, factor in (("s", 1e6), ("ms", 1e3)):
        if unit == name or (unit is None and us >= factor):
            return f"{us / factor:.3f}{name}"
    return f"{us:.3f}us"


def format_memory(count: float) -> str:
    """Bytes in the unit that suits them."""
    for name, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(count) >= factor:
            return f"{count / factor:.2f} {name}"
    return f"{count} B"


def format_share(part: float, total: float) -> str:
    """Per cent of a total."""
    return "NaN" if total == 0 else f"{part * 100.0 / total:.2f}%"


def _cut(text: str, width: int | None) -> str:
    if width is not None and len(text) >= width - 3:
        return text[: width - 3] + "..."
    return text


def _width(texts, most: int | None) -> int:
    width = max(len(t) for t in texts) + 4
    return width if most is None else min(width, most)


class _Columns:
    """Titles, widths and the text of each row."""

    def __init__(self):
        self.titles, self.widths = [], []

    def add(self, title: str, width: int = 12) -> None:
        self.titles.append(title)
        self.widths.append(width)

    def line(self, cells) -> str:
        parts = [f"{c:>{w}}  " for c, w in zip(cells, self.widths, strict=True)]
        return "".join(parts)

    def rule(self) -> str:
        return "".join("-" * w + "  " for w in self.widths)

    @property
    def total(self) -> int:
        return sum(w + 2 for w in self.widths) - 2


def _sorted(events, sort_by):
    if sort_by is None:
        return list(events)
    key = sort_by.replace("cuda", "device").replace("xpu", "device")
    return sorted(events, key=lambda e: getattr(e, key), reverse=True)


def _flops_scale(events):
    counted = [e.flops for e in events if e.flops > 0]
    if not counted:
        return None
    step = max(0, min(int(math.log10(min(counted)) / 3), len(_FLOPS) - 1))
    return 10.0 ** (-3 * step), _FLOPS[step]


def build(
    events,
    *,
    sort_by,
    row_limit,
    widest,
    header,
    profile_memory,
    with_flops,
    top_level_events_only,
    time_unit,
) -> str:
    """The table of a list of events; widest: of names, shapes and source lines."""
    if len(events) == 0:
        return ""
    rows = _sorted(events, sort_by)
    columns = _Columns()
    view = _View(columns, rows, widest, profile_memory, with_flops, time_unit)
    out = []
    if header is not None:
        out += ["=" * columns.total, header]
    if top_level_events_only:
        out += ["=" * columns.total, "This report only display top-level ops statistics"]
        rows = [e for e in rows if e.cpu_parent is None]
    out += [columns.rule(), columns.line(columns.titles), columns.rule()]
    for event in rows[: row_limit if row_limit >= 0 else None]:
        out += view.lines(event)
    out += [columns.rule(), f"Self CPU time total: {format_time(view.total, time_unit)}", ""]
    return "\n".join(out)


class _View:
    """Which columns a table has, and the cells of an event."""

    def __init__(self, columns, rows, widest, profile_memory, with_flops, time_unit):
        self.columns, self.unit, self.profile_memory = columns, time_unit, profile_memory
        self.most_name, most_shapes, most_source = widest
        self.total = sum(e.self_cpu_time_total for e in rows)
        self.has_shapes = any(e.input_shapes is not None and len(e.input_shapes) > 0 for e in rows)
        stacks = [s for e in rows if e.stack for s in e.stack]
        self.has_stacks = bool(stacks)
        self.scale = _flops_scale(rows) if with_flops else None
        columns.add("Name", _width([e.key for e in rows], self.most_name))
        for title in ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"):
            columns.add(title)
        if profile_memory:
            columns.add("CPU Mem")
            columns.add("Self CPU Mem")
        columns.add("# of Calls")
        if self.has_shapes:
            shapes = [str(e.input_shapes) for e in rows]
            columns.add("Input Shapes", _width(shapes, most_shapes))
        if stacks:
            columns.add("Source Location", _width(stacks, most_source))
        if self.scale:
            columns.add(f"Total {self.scale[1]}")

    def lines(self, event) -> list[str]:
        """The lines of an event: one, and one more for each further line of its stack."""
        cells = [
            _cut(event.key, self.most_name),
            format_share(event.self_cpu_time_total, self.total),
            format_time(event.self_cpu_time_total, self.unit),
            format_share(event.cpu_time_total, self.total) if not event.is_async else "0.00%",
            format_time(event.cpu_time_total, self.unit),
            format_time(event.cpu_time, self.unit),
        ]
        if self.profile_memory:
            cells.append(format_memory(event.cpu_memory_usage))
            cells.append(format_memory(event.self_cpu_memory_usage))
        cells.append(str(event.count))
        if self.has_shapes:
            cells.append(str(event.input_shapes)[: self.columns.widths[len(cells)]])
        at = len(cells)
        first, *others = event.stack or [""]
        if self.has_stacks:
            cells.append(_source(first, self.columns.widths[at]))
        if self.scale:
            cells.append("--" if event.flops <= 0 else f"{event.flops * self.scale[0]:8.3f}")
        out = [self.columns.line(cells)]
        if self.has_stacks:
            for line in [*others, ""]:
                more = [""] * len(cells)
                more[at] = _source(line, self.columns.widths[at])
                out.append(self.columns.line(more))
        return out


def _source(line: str, width: int) -> str:
    return line if len(line) <= width else "..." + line[-(width - 3) :]
