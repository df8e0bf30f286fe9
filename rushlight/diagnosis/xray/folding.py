"""Visits of a line that did the same, folded into one with counts and sums."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .reading import BACKWARD, Entry
from .tensors import Tensors
from .visits import Visit


@dataclass
class OpSum:
    """One op of a line, over all visits that did the same; times in ns. ``entry`` is the first."""

    entry: Entry
    forward: int = 0
    backward: int = 0
    made: int = 0
    walked: Counter = field(default_factory=Counter)
    lines: Counter = field(default_factory=Counter)

    def add(self, entry: Entry) -> None:
        self.forward += entry.end - entry.begin
        self.backward += entry.backward
        self.made += entry.made
        self.walked += entry.walked
        self.lines += entry.lines


@dataclass
class Variant:
    """Visits of one line with the same ops on the same shapes for the same module."""

    first: Visit
    ops: list[OpSum]
    count: int = 0
    made: int = 0
    held: int = 0
    turns: list[int] = field(default_factory=list)
    loop: int = 0  # the first line of the loop that turns

    def add(self, visit: Visit) -> None:
        self.count += 1
        self.made += visit.made
        self.held += visit.held()
        if visit.turns:
            self.loop, turn = visit.turns[-1]
            self.turns.append(turn)
        for op, entry in zip(self.ops, visit.entries, strict=True):
            op.add(entry)

    @property
    def forward(self) -> int:
        return sum(op.forward for op in self.ops if op.entry.kind is not BACKWARD)

    @property
    def backward(self) -> int:
        """What its graph nodes took; of a backward pass, all of it."""
        return sum(op.forward if op.entry.kind is BACKWARD else op.backward for op in self.ops)

    @property
    def nodes(self) -> int:
        """Graph nodes that one visit made."""
        return sum(e.nodes for e in self.first.entries)

    @property
    def walked(self) -> int:
        """Graph nodes that backward passes of one visit walked."""
        return sum(e.walked.total() for e in self.first.entries if e.kind is BACKWARD)


class Row:
    """One line that ran: its variants, first seen first, and what they sum up to."""

    def __init__(self):
        self.variants: dict[tuple, Variant] = {}
        self.calls: dict[int, list] = {}  # by id of a module: [module, times, ns of all it ran]

    def add(self, visit: Visit, signature: tuple) -> Variant:
        variant = self.variants.get(signature)
        if variant is None:
            variant = Variant(visit, [OpSum(e) for e in visit.entries])
            self.variants[signature] = variant
        variant.add(visit)
        return variant


def fold(visits: list[Visit], tensors: Tensors, module_of) -> tuple[dict, list]:
    """Rows by (file, line); the variant of each visit. ``module_of``: a call's event -> module."""
    rows: dict[tuple, Row] = {}
    variants = []
    for visit in visits:
        signature = (
            id(module_of(visit.call)),
            tuple(_signature(entry, tensors) for entry in visit.entries),
        )
        variants.append(rows.setdefault(visit.row, Row()).add(visit, signature))
    return rows, variants


def add_calls(rows: dict, calls: list) -> None:
    """Writes down which modules each line called."""
    for call in calls:
        found = rows.setdefault(call.place.row, Row()).calls
        known = found.setdefault(id(call.module), [call.module, 0, 0])
        known[1] += 1
        known[2] += max(0, call.end - call.begin)


def _signature(entry: Entry, tensors: Tensors) -> tuple:
    given = tuple(tensors.layout(t) for t in entry.inputs)
    made = tuple(tensors.layout(t) for t in entry.results)
    inner = tuple(sorted(entry.inner.items()))
    walked = tuple(sorted(entry.walked.items())) if entry.kind is BACKWARD else ()
    graph = entry.nodes
    return entry.name, entry.origin, id(entry.module), given, made, inner, walked, graph


def as_ranges(numbers: list[int], most: int = 6) -> str:
    """``1, 3-50`` of sorted numbers."""
    runs: list[list[int]] = []
    for n in sorted(set(numbers)):
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs[:most])
    return text + (" ..." if len(runs) > most else "")


def turn_groups(row: tuple, visits: list[Visit], variants: list[Variant]) -> list[dict]:
    """Turns of a loop that are alike, most first, and at which lines the others differ."""
    file, loop = row
    turns: dict[int, dict] = {}
    for visit, variant in zip(visits, variants, strict=True):
        for line, turn in visit.turns:
            if line == loop and visit.row[0] == file:
                seen = turns.setdefault(turn, {})
                seen[visit.row, id(variant)] = seen.get((visit.row, id(variant)), 0) + 1
    groups: dict[frozenset, list[int]] = {}
    for turn, seen in turns.items():
        groups.setdefault(frozenset(seen.items()), []).append(turn)
    ordered = sorted(groups.items(), key=lambda g: -len(g[1]))
    out = []
    for signature, numbers in ordered[:6]:
        differs = {place for (place, _), _ in signature ^ ordered[0][0]}
        out.append({"turns": as_ranges(numbers), "count": len(numbers), "rows": sorted(differs)})
    if len(ordered) > 6:
        rest = sum(len(numbers) for _, numbers in ordered[6:])
        out.append({"turns": "others", "count": rest, "rows": []})
    return out
