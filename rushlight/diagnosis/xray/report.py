"""An x-ray as the data of its page: files with what each line did, tensors, totals, the error."""

from __future__ import annotations

import json
import linecache
import os
from collections import Counter

from rushlight.profiler.verdict import module_names

from ..frames import is_user_path
from .folding import Variant, add_calls, as_ranges, fold, turn_groups
from .reading import BACKWARD, Reading
from .tensors import Tensors
from .visits import Visits

_MOST_BYTES = 5_500_000
_AROUND = 3  # lines of a library's file shown around one that ran
# Variants of a line, ops of a variant, tensors of an op, uses of a tensor: the first that fits.
_DETAIL = ((16, 80, 12, 24), (8, 40, 8, 12), (4, 20, 6, 8), (2, 10, 4, 4), (1, 4, 2, 2))


def page_data(recording, folder: str, script: str | None = None, **about) -> dict:
    """The data of an x-ray's page; ``about``: its title, command, error and the like. Files
    are named as seen from ``folder``; ``script`` and those that the error came through are shown
    even if no op ran in them."""
    error = about.get("error")
    files = [script, *(file for file, _ in error["at"])] if error else [script]
    report = _Report(
        recording, folder, [f for f in files if f is not None and linecache.getlines(f)]
    )
    for detail in _DETAIL:
        data = {**about, **report.data(*detail)}
        if len(json.dumps(data, separators=(",", ":"))) <= _MOST_BYTES:
            break
    return data


class _Report:
    def __init__(self, recording, folder: str, files: list[str]):
        self.recording, self.folder = recording, folder
        self.reading = reading = Reading(recording)
        self.visits = Visits(reading)
        self.tensors = Tensors(reading)
        self.names = module_names(recording)
        self.modules: dict[str, int] = {}
        self.rows, self.variants = fold(self.visits.visits, self.tensors, self._module_of)
        add_calls(self.rows, reading.module_calls)
        self.file_numbers: dict[str, int] = {}
        ran = sorted({row[0] for row in self.rows}, key=lambda f: (not is_user_path(f), f))
        for file in [*files, *ran]:
            self.file_numbers.setdefault(file, len(self.file_numbers))

    def _module_of(self, call: int):
        return self.reading.events[call].module if call >= 0 else None

    def _module(self, module) -> int:
        if module is None:
            return -1
        name = self.names.get(id(module), "")
        kind = type(module).__name__
        text = name if name == kind or not name else f"{name} ({kind})"
        return self.modules.setdefault(text or kind, len(self.modules))

    def _row(self, row: tuple | None):
        """A place as [file, line]; a file that shows nothing else is no place."""
        if row is None or row[0] not in self.file_numbers:
            return None
        return [self.file_numbers[row[0]], row[1]]

    # ---- All

    def data(self, variants: int, ops: int, tensors: int, uses: int) -> dict:
        files = [self._file(file, variants, ops, tensors) for file in self.file_numbers]
        return {
            "totals": self._totals(),
            "files": files,
            "tensors": [self._site(site, uses) for site in self.tensors.sites],
            "layouts": [self._layout(*key) for key in self.tensors.layouts],
            "modules": list(self.modules),
        }

    def _totals(self) -> dict:
        entries, now, peak = self.reading.entries, 0, 0
        for _, _, count, _, _ in self.recording.memory:
            now += count
            peak = max(peak, now)
        return {
            "events": len(self.reading.events),
            "seconds": self.reading.end * 1e-9,
            "ops": sum(e.kind is not BACKWARD for e in entries),
            "forward": sum(e.end - e.begin for e in entries if e.kind is not BACKWARD) * 1e-9,
            "backward": sum(e.backward for e in entries) * 1e-9,
            "made": sum(e.made for e in entries),
            "peak": peak,
            "nodes": sum(e.nodes for e in entries),
            "passes": sum(e.kind is BACKWARD for e in entries),
        }

    def _layout(self, dtype, size, stride) -> dict:
        out = {"dtype": str(dtype).rpartition(".")[2], "size": list(size)}
        if stride is not None:
            out["stride"] = list(stride)
        return out

    # ---- Files

    def _file(self, file: str, variants: int, ops: int, tensors: int) -> dict:
        rows = {line: row for (f, line), row in self.rows.items() if f == file}
        lines = [text.rstrip("\r\n") for text in linecache.getlines(file)]
        users = is_user_path(file)
        near = set(range(1, len(lines) + 1))
        if not users or len(lines) > 4000:
            near = {n for line in rows for n in range(line - _AROUND, line + _AROUND + 1)}
        return {
            "name": _short(file, self.folder),
            "path": file,
            "library": not users,
            "lines": {n: text[:500] for n, text in enumerate(lines, 1) if n in near},
            "rows": {line: self._line(rows[line], variants, ops, tensors) for line in sorted(rows)},
            "loops": {
                line: self._loop((file, line), loop)
                for (f, line), loop in sorted(self.visits.loops.items())
                if f == file
            },
        }

    def _loop(self, row: tuple, loop) -> dict:
        groups = []
        if loop.runs == 1:
            for group in turn_groups(row, self.visits.visits, self.variants):
                group["rows"] = [self._row(r) for r in group["rows"][:12]]
                groups.append(group)
        return {"turns": loop.turns, "groups": groups}

    def _line(self, row, variants: int, ops: int, tensors: int) -> dict:
        every = list(row.variants.values())
        times = sum(v.count for v in every)
        called = sorted(row.calls.values(), key=lambda c: -c[2])
        if not times:
            times = sum(c[1] for c in called)
        return {
            "times": times,
            "calls": [[self._module(m), n, ns] for m, n, ns in called[:variants]],
            "forward": sum(v.forward for v in every),
            "backward": sum(v.backward for v in every),
            "made": sum(v.made for v in every),
            "held": sum(self._held(v) for v in every),
            "nodes": sum(v.nodes * v.count for v in every) // times,
            "walked": sum(v.walked * v.count for v in every) // times,
            "variants": [self._variant(v, ops, tensors) for v in every[:variants]],
            "more": len(every) - len(every[:variants]),
        }

    def _held(self, variant: Variant) -> int:
        """Of a backward pass, what it left less what it freed."""
        freed = sum(self._pass(op.entry)["freed"] for op in variant.ops if _is_pass(op))
        return variant.held - freed * variant.count

    def _variant(self, variant: Variant, ops: int, tensors: int) -> dict:
        return {
            "count": variant.count,
            "turns": as_ranges(variant.turns) if variant.turns else "",
            "loop": variant.loop,
            "module": self._module(self._module_of(variant.first.call)),
            "made": variant.made,
            "held": self._held(variant),
            "ops": [self._op(op, variant.count, tensors) for op in variant.ops[:ops]],
            "more": max(0, len(variant.ops) - ops),
        }

    def _op(self, op, count: int, most: int) -> dict:
        entry = op.entry
        given = self.tensors.given.get(id(entry), [])
        made = self.tensors.made.get(id(entry), [])
        out = {
            "name": entry.name.rpartition("#")[2],
            "text": entry.place.text,
            "kind": self.tensors.kinds.get(id(entry), ""),
            "in": [[n, self.tensors.layout(t)] for n, t in given[:most]],
            "out": [[n, self.tensors.layout(t)] for n, t in made[:most]],
            "made": op.made,
            "forward": op.forward,
            "backward": op.backward,
            "nodes": entry.nodes,
            "module": self._module(entry.module),
        }
        if len(given) > most:
            out["moreIn"] = len(given) - most
        if len(made) > most:
            out["moreOut"] = len(made) - most
        if entry.place.span is not None:
            out["span"] = entry.place.span
        if entry.inner:
            out["inner"] = entry.inner.most_common(8)
        if entry.failed:
            out["failed"] = True
        if op.walked:
            out["walked"] = op.walked.most_common(8)
        if _is_pass(op):
            out["pass"] = self._pass(entry)
            costly = [(self._row(row), ns) for row, ns in op.lines.most_common(5)]
            out["lines"] = [[row, ns] for row, ns in costly if row is not None]
        return out

    def _pass(self, entry) -> dict:
        """What one backward pass walked, made and freed."""
        begin, end = entry.begin, entry.visit.left_at or self.reading.end
        kept = [b for b in entry.blocks if b.end is None or b.end >= end]
        freed = sum(
            b.bytes
            for b in self.reading.blocks
            if b.owner is not entry and b.end is not None and begin <= b.end <= end
        )
        return {
            "nodes": sum(entry.walked.values()),
            "leaves": entry.walked["AccumulateGrad"],
            "gradients": len(kept),
            "kept": sum(b.bytes for b in kept),
            "freed": freed,
        }

    # ---- Tensors

    def _site(self, site, most: int) -> dict:
        uses: Counter = Counter()
        for (row, role, op), count in site.uses.items():
            at = self._row(row)
            if at is not None:
                uses[(*at, role, op.rpartition("#")[2])] += count
        ends = [
            [how, self._row(row), self._row(saved), count]
            for (how, row, saved), count in site.ends.most_common(4)
        ]
        out = {"name": site.name, "op": site.op, "layout": site.layout, "bytes": site.bytes}
        out["row"] = self._row(site.row)
        out["uses"] = [[*use, count] for use, count in sorted(uses.items())[:most]]
        out["ends"] = ends
        if site.walked:
            through = site.walked.most_common(3)
            out["walked"] = [[name, self._row(row), count] for (name, row), count in through]
        if site.base >= 0:
            out["base"] = site.base
        if site.parameter:
            out["parameter"] = True
        if site.gradient is not None:
            rows = {k: self._row(site.gradient[k]) for k in ("row", "forward")}
            out["gradient"] = {**site.gradient, **rows}
        return out


def _is_pass(op) -> bool:
    return op.entry.kind is BACKWARD


def _short(file: str, folder: str) -> str:
    """A path as the reader knows it: from the folder that the program was started in."""
    relative = os.path.relpath(os.path.join(folder, file), folder)
    if not relative.startswith(".."):
        return relative
    return os.path.join(*file.split(os.sep)[-2:])
