"""Visits of lines, and the turns of loops that they belong to."""

from __future__ import annotations

from dataclasses import dataclass, field

from rushlight.profiler.names import OP

from .reading import ALLOCATION, Entry, Reading

_CONVERSIONS = frozenset("to float double half bfloat16 long int short bool type cpu".split())


@dataclass(slots=True)
class Visit:
    """One run of one line: its entries in order, and the bytes that it made and left behind."""

    row: tuple
    call: int
    turns: tuple  # (first line of a loop, its turn) around it, outermost first
    entries: list = field(default_factory=list)
    origins: set = field(default_factory=set)
    end: int = 0
    left_at: int | None = None  # when the program went on behind it

    @property
    def made(self) -> int:
        return sum(e.made for e in self.entries)

    def held(self) -> int:
        """Bytes that it made and that were alive when the program went on."""
        blocks = (b for e in self.entries for b in e.blocks)
        return sum(
            b.bytes
            for b in blocks
            if b.end is None or (self.left_at is not None and b.end >= self.left_at)
        )


@dataclass
class Loop:
    """A loop's turns, all together, and how often the loop began."""

    turns: int = 0
    runs: int = 0


class _Frame:
    """One run of a function, as far as it can be told: what runs in it, where its loops stand.

    A call of a function of the package may make many ops at one place; they are one step.
    """

    def __init__(self):
        self.turns: dict[int, int] = {}
        self.seen: dict[int, set] = {}
        self.visit: Visit | None = None
        self._step: tuple | None = None  # (origin, top, name of its first op)
        self._went_on = False  # whether the step has made another op than its first

    def begins(self, origin: int, top: int, name: str, direct: bool) -> bool:
        """Whether a call begins another step."""
        before = self._step
        bare = before is not None and before[2] == ALLOCATION and not self._went_on
        if before is not None and before[0] == origin and (not direct or bare):
            if top >= 0 or before[1] >= 0:
                same = top == before[1]
            else:
                same = name != before[2] or not (self._went_on or name == ALLOCATION)
            if same:
                self._went_on |= name != before[2]
                return False
        self._step, self._went_on = (origin, top, name), False
        return True

    def advance(self, loops: tuple, origin: int, count) -> None:
        """A step begins within these loops: a place that was seen before begins a turn."""
        if not loops:
            return
        innermost = loops[-1]
        fresh = innermost not in self.turns
        if fresh or origin in self.seen[innermost]:
            self.turns[innermost] = 1 if fresh else self.turns[innermost] + 1
            self.seen[innermost] = set()
            count(innermost, fresh)
            for inner in [loop for loop in self.turns if loop > innermost]:
                del self.turns[inner], self.seen[inner]
        self.seen[innermost].add(origin)


class Visits:
    """All visits in order, and the loops by file and first line."""

    def __init__(self, reading: Reading):
        self.loops: dict[tuple, Loop] = {}
        self.visits: list[Visit] = []
        self._owner = reading.owner
        self._frames: dict[tuple, _Frame] = {}
        self._turns: dict[int, tuple] = {}  # by thread: (the frame with loops, its turns)
        self._waiting: dict[int, list] = {}  # by thread: visits that were not left yet
        for item in _in_order(reading):
            frame = self._frame(item)
            if isinstance(item, Entry):
                fresh = frame.begins(item.origin, item.top, item.name, self._is_direct(item))
                self._visit(item, frame, fresh and self._advance(frame, item))
            elif frame.begins(item.origin, item.top, "", False) and self._advance(frame, item):
                frame.visit = None

    def _frame(self, item) -> _Frame:
        key = (item.thread, item.call, item.place.file, item.place.function)
        return self._frames.setdefault(key, _Frame())

    def _advance(self, frame: _Frame, item) -> bool:
        """Whether a line is visited anew: in another turn, or its place comes again."""
        place = item.place

        def count(loop: int, fresh: bool) -> None:
            found = self.loops.setdefault((place.file, loop), Loop())
            found.turns += 1
            found.runs += fresh

        if isinstance(item, Entry) and item.name.startswith("enumerate("):
            return True  # asking for a batch, also for one that is not there
        before = sum(frame.turns.values())
        frame.advance(place.loops, item.origin, count)
        turns = tuple((loop, frame.turns[loop]) for loop in place.loops if loop in frame.turns)
        if turns:
            self._turns[item.thread] = frame, turns
        elif place.function == "<module>" or self._turns.get(item.thread, (None,))[0] is frame:
            self._turns.pop(item.thread, None)  # the loop is left
        turned = sum(frame.turns.values()) != before
        return turned or (frame.visit is not None and item.origin in frame.visit.origins)

    def _visit(self, entry: Entry, frame: _Frame, anew: bool) -> None:
        visit = frame.visit
        if visit is None or anew or visit.row != entry.place.row:
            _, turns = self._turns.get(entry.thread, (None, ()))
            visit = frame.visit = Visit(entry.place.row, entry.call, turns)
            self.visits.append(visit)
        visit.entries.append(entry)
        visit.origins.add(entry.origin)
        visit.end, visit.left_at = max(visit.end, entry.end), None
        entry.visit = visit
        # What runs inside of a backward pass or a step comes before the program goes on.
        waiting = self._waiting.setdefault(entry.thread, [])
        for before in waiting:
            if before is not visit and before.end <= entry.begin:
                before.left_at = entry.begin
        waiting[:] = [v for v in waiting if v.left_at is None and v is not visit] + [visit]

    def _is_direct(self, entry: Entry) -> bool:
        """Whether the call at the entry's place is the op itself, not a function that makes ops."""
        called = entry.place.called.strip("_")
        if entry.kind is not OP or not called:
            return entry.kind is not ALLOCATION
        if called == "[]":  # an index of several parts works on what the part before it gave
            maker = entry.inputs[0].made_by if entry.inputs else -1
            before = self._owner[maker] if maker >= 0 else None
            return before is None or before.origin != entry.origin
        return called in _CONVERSIONS or entry.name.strip("_").startswith(called)


def _in_order(reading: Reading):
    """Entries and calls of modules, as they began."""
    calls = iter(reading.module_calls)
    call = next(calls, None)
    for entry in reading.entries:
        while call is not None and call.begin <= entry.begin:
            yield call
            call = next(calls, None)
        yield entry
