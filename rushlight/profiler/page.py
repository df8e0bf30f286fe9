"""A recording and its verdict as the data of the profiler's page."""

from __future__ import annotations

import datetime
import json

from .memory_timeline import CATEGORIES, timeline
from .names import MODULE, NODE, OP, RANGE, node_name, op_name
from .recording import shapes_of
from .verdict import Verdict, judge, memory_report, module_names

_MOST_BYTES = 5_800_000
_MOST_EVENTS = 100_000
_MOST_GROUPS = 4000
_MOST_POINTS = 700
_LEAST_PART = 1 / 3000  # of the whole, for a box of the flame graph to be there
PYTHON = "(Python)"


class _Numbers:
    """Things by their number, in order of appearance; None is -1."""

    def __init__(self):
        self.items, self._numbers = [], {}

    def __call__(self, item, shown=None) -> int:
        if item is None:
            return -1
        if item not in self._numbers:
            self._numbers[item] = len(self.items)
            self.items.append(item if shown is None else shown)
        return self._numbers[item]


def page_data(recording, verdict: Verdict | None, **about) -> dict:
    """What the page shows; ``about``: its title, command and the like."""
    events = _MOST_EVENTS
    page = _Page(recording, verdict)
    while True:
        data = {**about, **page.data(events)}
        if len(json.dumps(data, separators=(",", ":"))) <= _MOST_BYTES or events < 1000:
            return data
        events = events * 3 // 4


def write_page(prof, path) -> None:
    """The page of a ``torch.profiler.profile`` or ``torch.autograd.profiler.profile``."""
    from rushlight import pages

    from . import calibration

    session = getattr(prof, "profiler", None) or prof
    recording = session.recording
    verdict = judge(recording, calibration.machine())
    date = datetime.datetime.now().isoformat(" ", "minutes")
    data = page_data(recording, verdict, title="a recording", command="", date=date)
    pages.write(path, "profile", "profile", data)


class _Page:
    def __init__(self, recording, verdict):
        self.recording, self.verdict = recording, verdict
        self.events = recording.events
        self.module_names = module_names(recording)
        self.names, self.places, self.modules, self.shapes = (_Numbers() for _ in range(4))
        self.rows = _Numbers()
        reading = verdict.reading if verdict is not None else None
        self.root = reading.root if reading is not None else [None] * len(self.events)
        self.children = reading.children if reading is not None else [0] * len(self.events)
        self.flops = reading.flops if reading is not None else [0] * len(self.events)
        self.moved = reading.moved if reading is not None else [0] * len(self.events)
        self.module_of = reading.modules if reading is not None else [None] * len(self.events)
        self.titles = {r.what: r.title for r in verdict.rows} if verdict is not None else {}
        self.records = [self._record(i, e) for i, e in enumerate(self.events)]

    def data(self, most_events: int) -> dict:
        columns = list(zip(*self.records[:most_events], strict=True)) or [()] * 8
        begins = columns[0]
        groups = self._groups()
        flame = self._flame()
        return {
            "verdict": self._verdict(),
            "memory": memory_report(self.recording) if self.recording.memory else None,
            "curve": self._curve(),
            "count": len(self.events),
            "begin": [b - a for a, b in zip((0, *begins), begins, strict=False)],
            **dict(zip("length kind name place module row parent".split(), columns[1:])),
            "thread": [e.thread for e in self.events[:most_events]],
            "groups": groups,
            "flame": flame,
            "names": self.names.items,
            "places": self.places.items,
            "modules": self.modules.items,
            "shapes": self.shapes.items,
            "rows": self.rows.items,
        }

    # ---- Events, one by one

    def _name(self, e) -> str:
        if e.kind == OP:
            return op_name(e.name, self.recording.in_place(e)).removeprefix("aten::")
        if e.kind == NODE:
            return node_name(e.name).removeprefix("torch::autograd::")
        return e.name if e.kind == RANGE else self._module_name(e.module)

    def _module_name(self, module) -> str:
        return self.module_names.get(id(module), type(module).__name__)

    def _place(self, origin: int) -> int:
        at = self.recording.place(origin)
        return self.places(None if at is None else (at[0], at[2]))

    def _module(self, module) -> int:
        return self.modules(None if module is None else self._module_name(module))

    def _record(self, i: int, e) -> tuple:
        """Begin, length (ns), kind, name, place, module, the verdict's row, the event around it."""
        name = self.names(self._name(e))
        row = self.root[i]
        return (
            e.begin,
            max(0, e.end - e.begin),
            e.kind,
            name,
            self._place(e.origin),
            self._module(self.module_of[i]),
            self.rows(row, self.titles.get(row, row)),
            e.parent,
        )

    # ---- Sums, for the table

    def _groups(self) -> list:
        """[name, place, module, shape, row, times, self ns, total ns, FLOPs, bytes, allocated]:
        self time of modules and ranges is Python's."""
        sums: dict[tuple, list] = {}
        allocated = [e.allocated for e in self.events]
        costs = [(of, self._inside(of)) for of in (self.flops, self.moved, allocated)]
        python = self.names(PYTHON)
        for i, (e, r) in enumerate(zip(self.events, self.records, strict=True)):
            own = max(0, r[1] - self.children[i])
            name, shape = r[3], -1
            if e.kind == MODULE or (e.kind == RANGE and r[6] < 0):
                name = python
            elif e.kind == OP and self.recording.tensors:
                shape = self._shape(e)
            key = (name, r[4], r[5], shape, r[6])
            found = sums.get(key)
            if found is None:
                found = sums[key] = [*key, 0, 0, 0, 0, 0, 0]
            found[5] += 1
            found[6] += own
            found[7] += r[1] if name != python else own
            if e.kind == OP:  # less what ran inside of it
                for k, (all_of, inner) in enumerate(costs, 8):
                    found[k] += max(0, all_of[i] - inner[i])
        ordered = sorted(sums.values(), key=lambda g: -g[6])
        return ordered[:_MOST_GROUPS]

    def _inside(self, costs: list) -> list:
        """What the ops directly inside of each op cost."""
        inner = [0] * len(self.events)
        for i, e in enumerate(self.events):
            if e.kind == OP and e.parent >= 0:
                inner[e.parent] += costs[i]
        return inner

    def _shape(self, e) -> int:
        given = [s for s in shapes_of(self.recording, e) if s and not isinstance(s[0], list)]
        text = " ".join("x".join(map(str, s)) for s in given[:4])
        return self.shapes(text + (" ..." if len(given) > 4 else ""))

    # ---- The flame graph: modules, and the ops in them

    def _flame(self) -> list:
        """[name, ns, module, row, [boxes inside]] of what ran, of one name summed up."""
        tree: dict = {}
        box_of: list[dict] = []
        for i, (e, r) in enumerate(zip(self.events, self.records, strict=True)):
            outer = tree if e.parent < 0 else box_of[e.parent]
            if e.kind == NODE and (e.parent < 0 or self.events[e.parent].kind != NODE):
                outer = self._backward(tree, i)
            name = self.names.items[r[3]] if e.kind != MODULE else self._own_name(e)
            key = (e.kind, name, r[5] if e.kind == MODULE else -1)
            box = outer.setdefault(key, {"": [name, 0, r[5], r[6]]})
            box[""][1] += r[1]
            box_of.append(box)
        whole = sum(box[""][1] for key, box in tree.items() if key)
        return _boxes(tree, whole * _LEAST_PART)

    def _own_name(self, e) -> str:
        name = self._module_name(e.module)
        kind = type(e.module).__name__
        return name if name == kind else f"{name.rpartition('.')[2]} ({kind})"

    def _backward(self, tree: dict, i: int) -> dict:
        """Backward's boxes stand under the modules whose ops they are of."""
        r = self.records[i]
        box = tree.setdefault((NODE, "backward", -1), {"": ["backward", 0, -1, -1]})
        box[""][1] += r[1]
        if r[5] >= 0:
            name = self.modules.items[r[5]]
            box = box.setdefault((MODULE, name, r[5]), {"": [name, 0, r[5], -1]})
            box[""][1] += r[1]
        return box

    # ---- Memory

    def _curve(self) -> dict | None:
        """Live bytes by category over time: of each piece of the time, when most was alive."""
        if not self.recording.memory:
            return None
        points = timeline(self.recording)
        size = max(1, (len(points) + _MOST_POINTS - 1) // _MOST_POINTS)
        kept = []
        for k in range(0, len(points), size):
            kept.append(max(points[k : k + size], key=lambda p: sum(p.live.values())))
        return {
            "categories": CATEGORIES,
            "time": [p.time for p in kept],
            "live": [[p.live[c] for p in kept] for c in CATEGORIES],
        }

    # ---- The verdict

    def _verdict(self) -> dict | None:
        v = self.verdict
        if v is None:
            return None
        out = v.as_dict()
        out["span"] = v.span
        out["times"] = [min(v.step_times), max(v.step_times)]
        for told, row in zip(out["rows"], v.rows, strict=True):
            told["row"] = self.rows(row.what, row.title)
            told["rate"] = row.rate
            told["lines"] = [
                self.places((file, line))
                for (file, line), _ in sorted(row.lines.items(), key=lambda x: -x[1])[:8]
            ]
        for told, finding in zip(out["findings"], v.findings, strict=True):
            told["place"] = self.places(finding.place)
        return out


def _boxes(box: dict, least: float) -> list:
    """The boxes inside of one, those that can be seen."""
    inner = [b for key, b in box.items() if key]
    return [[*b[""], _boxes(b, least)] for b in inner if b[""][1] > least]
