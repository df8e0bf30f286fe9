"""Live bytes over time by what they are for, and who holds them at the peak.

What an allocation is for follows from when it was made and how long it lived:

- gradients: made by a graph node's run, alive after the backward pass;
- optimizer state: made inside an optimizer's step, alive after it;
- saved for backward: made by an op that made a graph node, or inside of one, alive when a
  backward pass begins; or whatever was made before a backward pass that let go of it;
- parameters: the storages of the parameters and buffers of modules that ran;
- other: what else is alive when the recording ends; temporaries: the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import namedtuple
from dataclasses import dataclass

from rushlight import _C

from .names import MODULE, NODE, OP, RANGE

CATEGORIES = (
    "parameters", "gradients", "optimizer state", "saved for backward", "other", "temporaries"
)  # fmt: skip

Point = namedtuple("Point", "time live")  # ns; bytes by category
Holder = namedtuple("Holder", "bytes category place module count")


@dataclass
class _Block:
    """One allocation: bytes, its times in ns (end None: never released), where it was made."""

    bytes: int
    begin: int
    end: int | None
    event: int
    origin: int
    storage: int
    category: str = "temporaries"


def _blocks(recording) -> list[_Block]:
    """What the recording saw begin; a storage that is resized ends and begins anew."""
    live, out = {}, []
    for time, event, count, storage, origin in recording.memory:
        before = live.pop(storage, None)
        size = count
        if before is not None:
            before.end = time
            size += before.bytes
        if size > 0:
            live[storage] = block = _Block(size, time, None, event, origin, storage)
            out.append(block)
            if before is not None:
                block.event, block.origin = before.event, before.origin
    return out


def _module_storages(recording) -> set[int]:
    """The storages of parameters and buffers of the modules that were called."""
    modules = {id(e.module): e.module for e in recording.events if e.kind == MODULE}
    scratch = _C.Recorder(tensors=True)
    scratch.start()
    for module in modules.values():
        for tensors in (module._parameters, module._buffers):
            for tensor in tensors.values():
                if tensor is not None:
                    tensor.detach()
    scratch.stop()
    return {t[4] for t in scratch.tensors()}


def _spans(recording, wanted) -> list[tuple[int, int]]:
    """(begin, end) of events, joined where they touch or nest, in order."""
    out: list[tuple[int, int]] = []
    for e in recording.events:
        if not wanted(e):
            continue
        if out and e.begin <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], e.end))
        else:
            out.append((e.begin, e.end))
    return out


def _passes(recording) -> list[tuple[int, int]]:
    """Backward passes: runs of graph nodes with no op of the program's own between them."""
    out: list[tuple[int, int]] = []
    joined = False
    for e in recording.events:
        outermost = e.parent < 0 or recording.events[e.parent].kind != NODE
        if e.kind == NODE and outermost:
            if joined:
                out[-1] = (out[-1][0], e.end)
            else:
                out.append((e.begin, e.end))
            joined = True
        elif joined and e.begin >= out[-1][1]:
            joined = False
    return out


def classified(recording) -> list[_Block]:
    """All allocations, each with its category."""
    events = recording.events
    made_node = _ancestor_flags(events, lambda e: e.kind == OP and e.sequence >= 0)
    in_node = _ancestor_flags(events, lambda e: e.kind == NODE)
    in_step = _ancestor_flags(
        events, lambda e: e.kind == RANGE and e.name.startswith("Optimizer.step#")
    )
    passes = _passes(recording)
    begins, ends = [b for b, _ in passes], [e for _, e in passes]
    steps = [
        e for _, e in _spans(recording, lambda e: e.kind == RANGE and "Optimizer.step#" in e.name)
    ]
    parameters = _module_storages(recording)
    # A storage's address comes again: a module's is the block that still lives.
    for block in (blocks := _blocks(recording)):
        outlives = lambda marks, b=block: (  # noqa: E731
            (at := bisect_left(marks, b.begin)) < len(marks)
            and (b.end is None or b.end > marks[at])
        )
        at = block.event
        if block.end is None and block.storage in parameters:
            block.category = "parameters"
        elif at >= 0 and in_node[at]:
            if outlives(ends):
                block.category = "gradients"
        elif at >= 0 and in_step[at]:
            if outlives(steps):
                block.category = "optimizer state"
        elif at >= 0 and made_node[at] and outlives(begins):
            block.category = "saved for backward"
        elif _ends_in_pass(block, passes, ends):
            block.category = "saved for backward"  # the program's own code does not run there
        elif block.end is None:
            block.category = "other"
    return blocks


def _ends_in_pass(block: _Block, passes, ends) -> bool:
    """Whether a backward pass that began after a block was made let go of it."""
    if block.end is None:
        return False
    at = bisect_left(ends, block.end)
    return at < len(passes) and block.begin < passes[at][0] <= block.end


def _ancestor_flags(events, test) -> list[bool]:
    flags: list[bool] = []
    for e in events:
        flags.append((e.parent >= 0 and flags[e.parent]) or test(e))
    return flags


def timeline(recording) -> list[Point]:
    """Live bytes by category at each allocation and release of what the recording saw begin."""
    changes = []
    for block in classified(recording):
        changes.append((block.begin, block.bytes, block.category))
        if block.end is not None:
            changes.append((block.end, -block.bytes, block.category))
    changes.sort(key=lambda c: c[0])
    live = dict.fromkeys(CATEGORIES, 0)
    points = []
    for time, count, category in changes:
        live[category] += count
        points.append(Point(time, dict(live)))
    return points


def holders(recording) -> list[Holder]:
    """What was alive at the peak, summed up by category, line and module; largest first."""
    blocks = classified(recording)
    now = most = at = 0
    order = [(b.begin, b.bytes) for b in blocks]
    order += [(b.end, -b.bytes) for b in blocks if b.end is not None]
    for time, count in sorted(order):
        now += count
        if now > most:
            most, at = now, time
    modules = innermost_modules(recording)
    groups: dict[tuple, list[int]] = {}
    for b in blocks:
        if b.begin <= at and (b.end is None or b.end > at):
            place = recording.place(b.origin)
            line = (place[0], place[2]) if place else None
            module = modules[b.event] if b.event >= 0 else None
            key = (b.category, line, None if module is None else id(module))
            group = groups.setdefault(key, [0, 0, place, module])
            group[0] += b.bytes
            group[1] += 1
    found = [Holder(g[0], key[0], g[2], g[3], g[1]) for key, g in groups.items()]
    return sorted(found, key=lambda h: -h.bytes)


def innermost_modules(recording) -> list:
    """Of each event, the module it ran in; of a graph node, the one of its forward op."""
    out, of_sequence = [], {}
    for e in recording.events:
        module = out[e.parent] if e.parent >= 0 else None
        if e.kind == MODULE:
            module = e.module
        elif e.kind == NODE:
            module = of_sequence.get(e.sequence, module)
        elif e.kind == OP and e.sequence >= 0:
            of_sequence.setdefault(e.sequence, module)
        out.append(module)
    return out
