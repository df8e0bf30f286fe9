"""Tensors as a reader follows them: where each was made, seen as a view, read, written, freed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rushlight import _C
from rushlight.profiler.names import MODULE, OP, RANGE

from .reading import ALLOCATION, BACKWARD, Block, Entry, Reading, Storages

_MOST_SITES = 4000
_COPIES = frozenset("contiguous clone reshape _to_copy to flatten copy_ unflatten ravel".split())
NEW, VIEW, COPY, WRITE, SAME, STEP = "new", "view", "copy", "write", "same", "step"


@dataclass
class Site:
    """A tensor of the program: all that one op makes at one place for one module, or a parameter.

    ``uses``: (row, role, op) and how often; ``ends``: how and where its memory went;
    ``walked``: (graph node, row of the backward pass) that its gradient went through, how often.
    """

    name: str
    row: tuple | None
    op: str
    layout: int
    bytes: int
    base: int = -1
    parameter: bool = False
    uses: Counter = field(default_factory=Counter)
    ends: Counter = field(default_factory=Counter)
    walked: Counter = field(default_factory=Counter)
    gradient: dict | None = None


class Tensors:
    """The sites of a reading, and each entry's inputs and results as (site, layout)."""

    def __init__(self, reading: Reading):
        self.reading = reading
        self.sites: list[Site] = []
        self.layouts: dict[tuple, int] = {}
        self._keys: dict[tuple, int] = {}
        self._storages = Storages(reading.blocks)
        self._parameters, self._gradients = _named_storages(reading, self._storages)
        self._last_of: dict[int, dict] = {}  # by visit: its last entry for each set of targets
        self.given: dict[int, list] = {}  # by id of an entry
        self.made: dict[int, list] = {}
        self.kinds: dict[int, str] = {}
        for entry in reading.entries:
            self._read(entry)
        self._end()

    def layout(self, t) -> int:
        """The number of a dtype, sizes and strides (None where those are in row order)."""
        stride = None if _in_order(t) else t.stride
        return self.layouts.setdefault((t.dtype, t.size, stride), len(self.layouts))

    # ---- Sites

    def _site(self, key: tuple, make) -> int:
        number = self._keys.get(key)
        if number is None and len(self.sites) < _MOST_SITES:
            number = self._keys[key] = len(self.sites)
            self.sites.append(make())
        return -1 if number is None else number

    def _parameter(self, name: str, t) -> int:
        make = lambda: Site(name, None, "", self.layout(t), t.bytes, parameter=True)  # noqa: E731
        return self._site(("parameter", name), make)

    def _input(self, t, entry: Entry) -> int:
        # What a step makes and then reads, it makes within the entry.
        when = entry.end if entry.kind is RANGE else entry.begin
        block = self._storages.at(t.storage, when)
        if block is not None and id(block) in self._parameters:
            return self._parameter(self._parameters[id(block)], t)
        maker = self._maker(t, block)
        if maker is not None:
            return maker
        if block is not None and block.site >= 0:
            return block.site
        return self._given(t, entry, block)

    def _maker(self, t, block: Block | None) -> int | None:
        if t.made_by < 0:
            return None
        owner = self.reading.owner[t.made_by]
        known = self.made.get(id(owner)) if owner is not None else None
        for number, made in known or ():
            # An address comes again: the tensor must be of the same memory.
            if made.tensor == t.tensor and made.storage == t.storage:
                return number
        if owner is not None and owner.kind is BACKWARD:
            return self._gradient_of(t, block)
        return None

    def _gradient_of(self, t, block: Block | None) -> int | None:
        if block is None or block.event < 0:
            return None
        node = self.reading.node[block.event]
        forward = self.reading.node_entry.get(node)
        if forward is None:
            return None
        key = ("gradient", forward.origin, self.reading.events[node].name, t.size)
        make = lambda: Site(  # noqa: E731
            "gradient", forward.place.row, self.reading.events[node].name, self.layout(t), t.bytes
        )
        return self._site(key, make)

    def _given(self, t, entry: Entry, block: Block | None) -> int:
        """A tensor that no op was seen to make: by its memory's place, else by its reader's."""
        owner = block.owner if block is not None else None
        if owner is not None and owner.kind is not BACKWARD:
            key = ("memory", owner.origin, owner.name, t.size)
            name = owner.place.targets[0] if len(owner.place.targets) == 1 else ""
            if _is_class(owner.place):
                name = ""
            if owner.kind is RANGE and ".step" in owner.name:
                name = "optimizer state"
            make = lambda: Site(  # noqa: E731
                name, owner.place.row, owner.name, self.layout(t), t.bytes
            )
        else:
            key = ("given", entry.origin, t.size, t.dtype)
            make = lambda: Site("", None, "", self.layout(t), t.bytes)  # noqa: E731
        number = self._site(key, make)
        if block is not None and block.site < 0:
            block.site = number
        return number

    # ---- Entries

    def _read(self, entry: Entry) -> None:
        inputs = [(self._input(t, entry), t) for t in entry.inputs]
        self.given[id(entry)] = inputs
        kind = self.kinds[id(entry)] = _kind(entry)
        op = entry.name
        row = entry.place.row
        written = entry.inputs[0].tensor if kind == WRITE else None
        for number in dict.fromkeys(number for number, _ in inputs):
            if number >= 0:
                role = "read"
                if written is not None and any(
                    n == number and t.tensor == written for n, t in inputs
                ):
                    role = "write"
                elif kind in (VIEW, COPY) and number == inputs[0][0]:
                    role = kind
                elif kind == STEP and self.sites[number].parameter:
                    role = "update"
                self.sites[number].uses[row, role, op] += 1
        self.made[id(entry)] = [
            self._result(entry, kind, k, t) for k, t in enumerate(entry.results)
        ]

    def _result(self, entry: Entry, kind: str, k: int, t) -> tuple:
        for number, given in self.given[id(entry)]:
            if given.tensor == t.tensor:
                return number, t
        place = entry.place
        block = self._storages.at(t.storage, entry.end)
        base = -1
        if kind == VIEW:
            base = next((n for n, g in self.given[id(entry)] if g.storage == t.storage), -1)

        def make() -> Site:
            return Site("", place.row, entry.name, self.layout(t), t.bytes, base)

        key = (entry.origin, self._module_key(entry), entry.name, k)
        number = self._site(key, make)
        if number >= 0 and not _is_class(place):
            self._name(entry, number, k)
        if block is not None and block.site < 0 and kind != VIEW:
            block.site = number
        return number, t

    def _name(self, entry: Entry, number: int, k: int) -> None:
        """The name that the result is bound to, if the op is the last of its expression."""
        targets = entry.place.targets
        visit = entry.visit
        if id(visit) not in self._last_of:
            self._last_of[id(visit)] = {e.place.targets: e for e in visit.entries}
        if self._last_of[id(visit)][targets] is not entry:
            return
        if len(targets) == len(entry.results):
            self.sites[number].name = targets[k]
        elif len(targets) == 1 and k == 0:
            self.sites[number].name = targets[0]

    def _module_key(self, entry: Entry):
        return id(entry.module) if entry.module is not None else None

    # ---- Ends

    def _end(self) -> None:
        for entry in self.reading.entries:
            passed = entry.walked_by
            if passed is None or passed.place is None:
                continue
            for number in dict.fromkeys(number for number, _ in self.made[id(entry)]):
                for name, count in entry.walked.items() if number >= 0 else ():
                    if name != "AccumulateGrad":
                        self.sites[number].walked[name, passed.place.row] += count
        for block in self.reading.blocks:
            if block.site < 0:
                continue
            site = self.sites[block.site]
            if block.end is None:
                site.ends["kept", None, None] += 1
                continue
            node = self.reading.node[block.freed_by] if block.freed_by >= 0 else -1
            place = self.reading.place(block.freed_at)
            row = place.row if place is not None else None
            if node >= 0:
                saved = self.reading.node_entry.get(node)
                site.ends["backward", row, saved.place.row if saved else None] += 1
            else:
                site.ends["line", row, None] += 1
        for name, block in self._gradients.items():
            number = self._keys.get(("parameter", name))
            if number is not None and block.event >= 0:
                self.sites[number].gradient = self._gradient(block)

    def _gradient(self, block: Block) -> dict:
        node = self.reading.node[block.event]
        forward = self.reading.node_entry.get(node)
        name = self.reading.events[node].name if node >= 0 else ""
        at = block.owner.place.row if block.owner is not None else None
        return {
            "bytes": block.bytes,
            "node": name,
            "row": at,
            "forward": forward.place.row if forward is not None else None,
        }


def _is_class(place) -> bool:
    return place.called[:1].isupper()


def _in_order(t) -> bool:
    step = 1
    for n, stride in zip(reversed(t.size), reversed(t.stride), strict=True):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def _kind(entry: Entry) -> str:
    if entry.kind is not OP:
        return {RANGE: STEP, ALLOCATION: NEW}.get(entry.kind, entry.kind)
    if not entry.results:
        return NEW
    made = entry.results[0]
    for t in entry.inputs:
        if t.tensor == made.tensor:
            return WRITE if made.version != t.version else SAME
    if any(t.storage == made.storage and t.storage for t in entry.inputs):
        return VIEW
    return COPY if entry.name.partition(".")[0] in _COPIES and entry.inputs else NEW


def _named_storages(reading: Reading, storages: Storages) -> tuple[dict, dict]:
    """Names of the parameters and buffers that live at the end, by id of their block; the blocks
    of their gradients by name."""
    from rushlight.profiler.verdict import module_names

    modules = {id(e.module): e.module for e in reading.events if e.kind == MODULE}
    names = module_names(reading.recording)
    wanted, seen = [], set()
    for module in modules.values():
        prefix = names.get(id(module), "")
        for table in (module._parameters, module._buffers):
            for name, tensor in table.items():
                if tensor is None or id(tensor) in seen:
                    continue
                seen.add(id(tensor))
                wanted.append((f"{prefix}.{name}" if prefix else name, tensor))
                if tensor.is_leaf and tensor.grad is not None:
                    wanted.append(("", tensor.grad))
    scratch = _C.Recorder(tensors=True)
    scratch.start()
    for _, tensor in wanted:
        tensor.detach()
    scratch.stop()
    tensors = scratch.tensors()
    parameters, gradients, last = {}, {}, ""
    for (name, _), event in zip(wanted, scratch.events(), strict=False):
        block = storages.at(tensors[event[16]][4], reading.end)
        if block is None or block.end is not None:
            last = name or last
            continue
        if name:
            parameters[id(block)] = last = name
        else:
            gradients[last] = block
    return parameters, gradients
