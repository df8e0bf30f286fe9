"""Traces for chrome://tracing and Perfetto, and stacks for flame graphs."""

from __future__ import annotations

import gzip
import json
import os
import socket

from .function_events import EventList
from .names import MODULE, NODE, OP, RANGE

_CATEGORIES = {OP: "cpu_op", NODE: "cpu_op", MODULE: "python_function", RANGE: "user_annotation"}


def as_trace(events: EventList, metadata: dict | None = None) -> dict:
    """Events in the Trace Event Format: spans, arrows from forward to backward, memory."""
    pid = os.getpid()
    out = [
        _named("process_name", pid, 0, "python"),
        _named("process_labels", pid, 0, "CPU", key="labels"),
    ]
    threads = sorted({e.thread for e in events})
    out += [_named("thread_name", pid, t, f"thread {t}") for t in threads]
    forward: dict[int, object] = {}
    arrows = 0
    allocated = 0
    for event in events:
        if event.name == "[memory]":
            allocated += event.cpu_memory_usage
            out.append(_memory(event, pid, allocated))
            continue
        out.append(_span(event, pid))
        if event.sequence_nr < 0:
            continue
        if event.kind == OP:
            forward.setdefault(event.sequence_nr, event)
        elif event.kind == NODE and event.scope == 0:
            begin = forward.get(event.sequence_nr)
            if begin is not None:
                arrows += 1
                out.append(_arrow("s", arrows, pid, begin))
                out.append(_arrow("f", arrows, pid, event) | {"bp": "e"})
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        **(metadata or {}),
        "traceEvents": out,
    }


def _named(what: str, pid: int, tid: int, name: str, key: str = "name") -> dict:
    return {"ph": "M", "name": what, "ts": 0, "pid": pid, "tid": tid, "args": {key: name}}


def _span(event, pid: int) -> dict:
    args = {"External id": event.id}
    if event.sequence_nr >= 0:
        args["Sequence number"] = event.sequence_nr
        args["Fwd thread id"] = event.fwd_thread
    if event.input_shapes:
        args["Input Dims"] = event.structured_input_shapes
    if event.flops:
        args["FLOPs"] = event.flops
    if event.place is not None:
        args["Call site"] = f"{event.place[0]}:{event.place[2]}"
    if event.failed:
        args["Failed"] = True
    return {
        "ph": "X",
        "cat": _CATEGORIES[event.kind],
        "name": event.trace_name,
        "pid": pid,
        "tid": event.thread,
        "ts": event.time_range.start,
        "dur": event.time_range.elapsed_us(),
        "args": args,
    }


def _arrow(phase: str, number: int, pid: int, event) -> dict:
    return {
        "ph": phase,
        "id": number,
        "pid": pid,
        "tid": event.thread,
        "ts": event.time_range.start,
        "cat": "fwdbwd",
        "name": "fwdbwd",
    }


def _memory(event, pid: int, allocated: int) -> dict:
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": pid,
        "tid": event.thread,
        "ts": event.time_range.start,
        "args": {"Bytes": event.cpu_memory_usage, "Total Allocated": allocated},
    }


def write(path, trace: dict) -> None:
    """Writes a trace, compressed where the name ends in ``.gz``."""
    path = os.fspath(path)
    open_file = gzip.open if path.endswith(".gz") else open
    with open_file(path, "wt", encoding="utf-8") as file:
        json.dump(trace, file)


def write_stacks(events: EventList, path, metric: str) -> None:
    """Lines of ``outermost;...;innermost;op value``, values in whole microseconds."""
    if metric not in EventList.supported_export_stacks_metrics():
        raise ValueError(
            "metric should be one of: " + str(EventList.supported_export_stacks_metrics())
        )
    blanks = str.maketrans(" ;\t\n", "____")
    sums: dict[str, int] = {}
    for event in events:
        if not event.stack:
            continue
        value = int(getattr(event, metric))
        if value > 0:
            line = ";".join(s.translate(blanks) for s in [*reversed(event.stack), event.name])
            sums[line] = sums.get(line, 0) + value
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line} {value}\n" for line, value in sums.items())
