"""What there is to gain at most, row by row, and what to try."""

from __future__ import annotations

from dataclasses import dataclass

from .rows import (
    COMPUTE,
    DATA,
    LOADER,
    MEMORY,
    OVERHEAD,
    PROFILER,
    PYTHON,
    WAITING,
    WAITS,
    Row,
    calls,
    in_cache,
)

_COPIES = {
    "contiguous": "fewer permute/transpose before contiguous, reshape and clone",
    "to": "one dtype throughout",
    "copy_": "what makes the values may write them there (out=)",
}
_COPIES |= dict.fromkeys(("clone", "reshape"), _COPIES["contiguous"])
_COPIES["_to_copy"] = _COPIES["to"]
_MOST_FINDINGS = 5
_WORTHWHILE = 0.01  # of the time
_STACK = "one op over a stack of tensors in place of a loop, or a larger batch"
_CALLS = {
    "item": "fewer item(): sum up tensors, and read them once at the end",
    DATA: "torch.from_numpy of an array, or made once before the loop",
}
_CALLS["is_nonzero"] = "fewer if and while on tensors: torch.where, or one look at many of them"
_NO_OP = "no op runs before this line: Python, or what it waits for"
_FAR = 0.3  # of the limit; what stays below is held back by something else


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
        if row.workers:
            advice = "more workers than it has, or less work for each batch"
        return WAITING, "the program waits for its DataLoader", row.seconds, advice
    if row.what == WAITS:
        advice = "move this work out of the step, or do it on whole tensors"
        return WAITING, _NO_OP, row.seconds, advice
    if row.what == PYTHON:
        return OVERHEAD, f"Python between {calls(row.ops // steps)}", row.seconds, _STACK
    return None


def _memory_bound(row: Row, steps: int, machine):
    moved = row.bytes / steps / 2**20
    if row.what in _COPIES:
        return MEMORY, f"{row.what} copies {moved / 2:.3g} MiB", row.seconds, _COPIES[row.what]
    if row.ops == 1:
        return None  # once: what it costs is the first touch of its memory
    what = f"{row.what} moves {moved:.3g} MiB"
    if row.chained:
        advice = "one fused op for a chain of these (addcmul, lerp, gelu ...)"
        if not in_cache(row, machine):
            advice += ", or pieces that stay in cache"
        return MEMORY, what, row.seconds * row.chained / row.ops, advice
    if row.what.endswith(".step"):
        return MEMORY, what, row.seconds / 2, "a step every second batch, on gradients summed up"
    if row.limit < _FAR * row.seconds:
        what += f", {100 * row.limit / row.seconds:.0f} % of the limit"
        return MEMORY, what, row.seconds - row.limit, "another op for it, or a larger batch"
    return MEMORY, what, row.seconds / 2, "bfloat16: half the bytes"


def _compute_bound(row: Row, steps: int, machine):
    what = f"{row.title}: {row.all_flops / steps * 1e-9:.3g} GFLOP"
    double, single = row.flops.get(8, 0.0), row.flops.get(4, 0.0)
    if double > single:
        gain = row.seconds - double * 1e-9 / machine.gflops
        return COMPUTE, what, gain, "float32 in place of float64"
    faster = machine.half_gflops > 1.2 * machine.gflops
    if faster and row.limit > _FAR * row.seconds and single:
        gain = row.seconds - single * 1e-9 / machine.half_gflops
        return COMPUTE, what, gain, "bfloat16 autocast"
    gain = max(row.seconds - row.limit, row.seconds * 0.05)
    return COMPUTE, what, gain, "larger matrices: a larger batch"


def _of_ops(row: Row, steps: int, machine):
    if row.bound == OVERHEAD:
        what = f"{calls(row.ops // steps)} of {row.what} on little data"
        if row.what == DATA:
            what = f"{calls(row.ops // steps)} of {DATA} on lists and numbers"
        advice = _CALLS.get(row.what, _STACK)
        return OVERHEAD, what, row.seconds - row.limit / max(row.ops, 1), advice
    if row.bound == MEMORY:
        return _memory_bound(row, steps, machine)
    return _compute_bound(row, steps, machine)


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
    least = _WORTHWHILE * sum(r.seconds for r in rows) / steps
    found = [f for f in found if f.gain >= least]
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
