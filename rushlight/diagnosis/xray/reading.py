"""A recording as entries: what the program's own lines did, each with what ran inside it."""

from __future__ import annotations

import types
from bisect import bisect_right
from collections import Counter, namedtuple
from dataclasses import dataclass, field

from rushlight.profiler.names import MODULE, NODE, OP, RANGE

from ..frames import is_user_code
from ..source import typed
from .places import Place, read_place

_FRAMEWORKS = ("Optimizer.", "enumerate(DataLoader)#")  # ranges that the package itself writes
BACKWARD, ALLOCATION = "backward", "new tensor"


@dataclass(slots=True)
class Entry:
    """One op, step of an optimizer, batch of a loader, backward pass or bare allocation.

    ``call`` is the event of the innermost call of a module whose forward is the user's, ``top`` of
    the outermost of the package's modules inside of that; -1 for none. Times are in ns.
    ``walked`` counts the graph nodes of it (of all, for a pass) that ran, ``lines`` the ns of a
    pass by the row that caused them.
    """

    kind: int | str
    name: str
    place: Place
    origin: int
    thread: int
    begin: int
    end: int
    call: int = -1
    top: int = -1
    module: object = None
    inputs: list = field(default_factory=list)
    results: list = field(default_factory=list)
    inner: Counter = field(default_factory=Counter)
    walked: Counter = field(default_factory=Counter)
    backward: int = 0
    nodes: int = 0
    made: int = 0
    failed: bool = False
    blocks: list = field(default_factory=list)
    visit: object = None
    walked_by: object = None  # the last pass that walked its nodes
    lines: Counter = field(default_factory=Counter)  # of a pass: ns by the row that caused them


@dataclass(slots=True)
class Block:
    """One allocation: who made it, when it came and went (None: it stayed), what released it."""

    bytes: int
    storage: int
    begin: int
    owner: Entry | None
    event: int
    end: int | None = None
    freed_by: int = -1  # event
    freed_at: int = 0  # origin
    site: int = -1


ModuleCall = namedtuple("ModuleCall", "begin end thread place origin call top module")


class Reading:
    """Entries in order of their beginning, and the blocks of memory that they made."""

    def __init__(self, recording):
        self.recording = recording
        self.events = recording.events
        self._places: dict[int, Place | None] = {}
        self._user_forward: dict[type, bool] = {}
        self.entries: list[Entry] = []
        self.module_calls: list[ModuleCall] = []
        count = len(self.events)
        self.owner: list[Entry | None] = [None] * count
        self.node: list[int] = [-1] * count  # the graph node that an event ran inside of
        self.call: list[int] = [-1] * count
        self.top: list[int] = [-1] * count
        self.module: list = [None] * count
        self._passes: dict[int, Entry] = {}  # by thread
        self._of_sequence: dict[int, Entry] = {}
        self._walked: Entry | None = None
        self._of_origin: dict[int, Entry] = {}
        self.node_entry: dict[int, Entry] = {}  # of a node's event, what made the node
        self._last: dict[int, tuple] = {}  # by thread: (event, entry)
        for i, e in enumerate(self.events):
            self._read(i, e)
        self.end = max((e.end for e in self.events), default=0)
        self.blocks = self._read_memory()
        self.entries = [entry for entry in self.entries if entry.place is not None]
        self.entries.sort(key=lambda entry: entry.begin)

    # ---- Places

    def place(self, origin: int) -> Place | None:
        """What the source says of an origin; None where it is no file's."""
        if origin not in self._places:
            at = self.recording.place(origin)
            real = at is not None and (not at[0].startswith("<") or at[0] in typed)
            self._places[origin] = read_place(at) if real else None
        return self._places[origin]

    # ---- Events

    def _read(self, i: int, e) -> None:
        outer = e.parent
        if outer >= 0:
            self.owner[i], self.node[i] = self.owner[outer], self.node[outer]
            self.call[i], self.module[i] = self.call[outer], self.module[outer]
            self.top[i] = self.top[outer]
        if e.kind == MODULE:
            self._read_module(i, e)
        elif e.kind == NODE:
            self._read_node(i, e)
        elif e.kind == RANGE:
            if self.owner[i] is None and e.name.startswith(_FRAMEWORKS):
                self.owner[i] = self._add(i, e, RANGE)
        elif not self._belongs(i, e):
            self.owner[i] = self._add(i, e, OP)
        if e.kind == OP and e.sequence >= 0:
            owner = self.owner[i]
            if owner is not None:
                owner.nodes += 1
                self._of_sequence.setdefault(e.sequence, owner)

    def _read_module(self, i: int, e) -> None:
        self.module[i] = e.module
        place = self.place(e.origin)
        top = i if self.top[i] < 0 else self.top[i]
        if place is not None and self.owner[i] is None:
            about = e.thread, place, e.origin, self.call[i], top, e.module
            self.module_calls.append(ModuleCall(e.begin, e.end, *about))
        self.top[i] = top
        if self._is_users(type(e.module)):
            self.call[i], self.top[i] = i, -1

    def _is_users(self, kind: type) -> bool:
        if kind not in self._user_forward:
            function = getattr(kind, "forward", None)
            code = getattr(function, "__code__", None)
            self._user_forward[kind] = isinstance(code, types.CodeType) and is_user_code(code)
        return self._user_forward[kind]

    def _belongs(self, i: int, e) -> bool:
        """Whether an op is part of what it runs in: an op, a step, the backward pass."""
        owner = self.owner[i]
        if owner is None:
            return False
        if owner.kind == OP:
            return True
        place = self.place(e.origin)
        if owner.kind == BACKWARD and owner.place is None:
            owner.place, owner.origin = place, e.origin
        if place is not None and owner.place is not None and place.row != owner.place.row:
            return False
        if owner.kind == RANGE and (e.parent < 0 or self.events[e.parent].kind == RANGE):
            owner.inner[e.name] += 1
            if len(owner.inputs) < 400:
                owner.inputs += self.recording.inputs(e)
        return True

    def _add(self, i: int, e, kind) -> Entry | None:
        place = self.place(e.origin)
        if place is None:
            return None
        entry = Entry(kind, e.name, place, e.origin, e.thread, e.begin, max(e.begin, e.end))
        entry.call, entry.top = self.call[i], self.top[i]
        entry.module, entry.failed = self.module[i], e.failed
        entry.made = e.allocated
        if kind == OP:
            entry.inputs, entry.results = self.recording.inputs(e), self.recording.results(e)
        self.entries.append(entry)
        self._of_origin[e.origin] = entry
        self._last[e.thread] = i, entry
        if self.node[i] < 0:
            self._passes.pop(e.thread, None)
        return entry

    def _read_node(self, i: int, e) -> None:
        nested = self.node[i] >= 0
        self.node[i] = i
        walked = self._passes.get(e.thread)
        if walked is None:
            walked = self._begin_pass(i, e)
        self.owner[i] = walked
        made_by = self._maker(e)
        walked.walked[e.name] += 1
        if made_by is not None:
            self.node_entry[i] = made_by
        if nested:
            return
        spent = max(0, e.end - e.begin)
        walked.end = max(walked.end, e.end)
        walked.made += e.allocated
        if made_by is not None:
            made_by.backward += spent
            made_by.walked[e.name] += 1
            made_by.walked_by = walked
            if made_by.place is not None:
                walked.lines[made_by.place.row] += spent

    def _maker(self, e) -> Entry | None:
        """What made a node; of a leaf's, what used the leaf."""
        if e.sequence >= 0:
            self._walked = self._of_sequence.get(e.sequence)
            return self._walked
        if self._walked is not None and self._walked.origin == e.origin:
            return self._walked
        return self._of_origin.get(e.origin)

    def _begin_pass(self, i: int, e) -> Entry:
        entry = Entry(BACKWARD, BACKWARD, None, 0, e.thread, e.begin, e.end)
        entry.call, entry.module = self.call[i], self.module[i]
        at, before = self._last.get(e.thread, (0, None))
        if before is not None and before.name == "ones_like" and self.entries[-1] is before:
            self.entries.pop()  # the gradient that backward begins with
            entry.place, entry.origin, entry.begin = before.place, before.origin, before.begin
            entry.made = before.made
            for j in range(at, i):
                if self.owner[j] is before:
                    self.owner[j] = entry
        self.entries.append(entry)
        self._passes[e.thread] = entry
        return entry

    # ---- Memory

    def _read_memory(self) -> list[Block]:
        """All allocations; what no event made becomes an entry at the line that made it."""
        live: dict[int, Block] = {}
        out: list[Block] = []
        for time, event, count, storage, origin in self.recording.memory:
            if count < 0:
                block = live.pop(storage, None)
                if block is not None:
                    block.end, block.freed_by, block.freed_at = time, event, origin
                continue
            owner = self.owner[event] if event >= 0 else None
            if owner is None:
                owner = self._bare(time, event, count, origin)
            live[storage] = block = Block(count, storage, time, owner, event)
            out.append(block)
            if owner is not None:
                owner.blocks.append(block)
        return out

    def _bare(self, time: int, event: int, count: int, origin: int) -> Entry | None:
        place = self.place(origin)
        if place is None:
            return None
        entry = Entry(ALLOCATION, ALLOCATION, place, origin, 0, time, time)
        if event >= 0:
            entry.thread = self.events[event].thread
            entry.call, entry.top = self.call[event], self.top[event]
            entry.module = self.module[event]
        entry.made = count
        self.entries.append(entry)
        return entry


class Storages:
    """Which block an address was at a time: addresses come again."""

    def __init__(self, blocks: list[Block]):
        self._begins: dict[int, list[int]] = {}
        self._blocks: dict[int, list[Block]] = {}
        for block in blocks:
            self._begins.setdefault(block.storage, []).append(block.begin)
            self._blocks.setdefault(block.storage, []).append(block)

    def at(self, storage: int, time: int) -> Block | None:
        """The block that lives at an address at a time, None where none was seen to begin."""
        begins = self._begins.get(storage)
        if begins is None:
            return None
        k = bisect_right(begins, time) - 1
        if k < 0:
            return None
        block = self._blocks[storage][k]
        return block if block.end is None or block.end >= time else None
