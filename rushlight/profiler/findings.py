"""What there is to gain at most, row by row, and what to try."""

from __future__ import annotations

from dataclasses import dataclass

from .rows import COMPUTE, LOADER, MEMORY, OVERHEAD, PROFILER, PYTHON, WAITING, WAITS, Row

_COPIES = frozenset(("contiguous", "clone", "copy_", "reshape", "to", "_to_copy"))
_MOST_FINDINGS = 5
_STACK = "one op over a stack of tensors in place of a loop, or a larger batch"
_NO_OP = "no op runs before this line: Python, or what it waits for"


@dataclass
class Finding:
    """Something to gain: what it is, where, how much at most, what to try."""

    kind: str
    what: str
    place: tuple | None
    module: str | None
    gain: float  # seconds per step, at most; not measured
    advice: str

    def as_dict(self) -> dict:
        return {
            "kind": self.kind,
            "what": self.what,
            "file": self.place[0] if self.place else None,
            "line": self.place[1] if self.place else None,
            "module": self.module,
            "at_most_seconds": self.gain,
            "try": self.advice,
        }


def _waiting(row: Row, steps: int):
    """(kind, what, seconds of all steps to gain at most, advice) of time in which no op ran."""
    if row.what == LOADER:
        advice = "DataLoader(num_workers=2) or more, so that batches are made meanwhile"
        return WAITING, "the program waits for its DataLoader", row.seconds, advice
    if row.what == WAITS:
        advice = "move this work out of the step, or do it on whole tensors"
        return WAITING, _NO_OP, row.seconds, advice
    if row.what == PYTHON:
        return OVERHEAD, f"Python between {row.ops // steps:,} calls", row.seconds, _STACK
    return None


def _memory_bound(row: Row, steps: int):
    moved = row.bytes / steps / 2**20
    if row.what in _COPIES:
        advice = "fewer permute/transpose before contiguous, reshape and clone"
        return MEMORY, f"{row.what} copies {moved / 2:.3g} MiB", row.seconds, advice
    what = f"{row.what} moves {moved:.3g} MiB"
    if row.pointwise:
        advice = "one fused op for a chain of these (addcmul, lerp, gelu ...), or pieces that "
        others = 1 - 1 / max(row.ops / steps, 1)
        return MEMORY, what, row.seconds * others, advice + "stay in cache"
    if row.ops > 1:
        advice = "bfloat16 (half the bytes), or pieces that stay in cache"
        return MEMORY, what, row.seconds / 2, advice
    return None


def _of_ops(row: Row, steps: int, machine):
    if row.bound == OVERHEAD:
        what = f"{row.ops // steps:,} calls of {row.what} on little data"
        return OVERHEAD, what, row.seconds - row.limit / max(row.ops, 1), _STACK
    if row.bound == MEMORY:
        return _memory_bound(row, steps)
    what = f"{row.title}: {row.flops / steps * 1e-9:.3g} GFLOP"
    if machine.bfloat16 and row.limit > 0.5 * row.seconds:
        return COMPUTE, what, row.seconds / 2, "bfloat16 autocast"
    gain = max(row.seconds - row.limit, row.seconds * 0.05)
    return COMPUTE, what, gain, "larger matrices: a larger batch"


def findings(rows, machine, names, steps: int, unused_graph: bool) -> list[Finding]:
    """At most five, most to gain first. names: of modules, by id."""
    found = []

    def add(row, kind, what, seconds, advice):
        if seconds > 0:
            module = names.get(id(row.module)) if row.module is not None else None
            found.append(Finding(kind, what, row.place, module, seconds / steps, advice))

    for row in rows:
        if row.what in (LOADER, WAITS, PYTHON, PROFILER):
            said = _waiting(row, steps)
        else:
            said = _of_ops(row, steps, machine)
        if said is not None:
            add(row, *said)
    first = next((r for r in rows if r.lines), None)
    if unused_graph and first is not None:
        add(
            first,
            OVERHEAD,
            "a graph is recorded that no backward pass walks",
            sum(r.ops for r in rows) * machine.op_ns * 1e-9,
            "torch.inference_mode() around it",
        )
    found.sort(key=lambda f: -f.gain)
    return found[:_MOST_FINDINGS]
