"""Chrome traces: phases, nesting, threads and arrows; stacks for flame graphs."""

import gzip
import json
import math
import threading

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.profiler import profile, record_function, schedule
from rushlight.profiler.trace import as_trace

PHASES = {  # the keys that the Trace Event Format asks for, by phase
    "M": {"name", "pid", "args"},
    "X": {"name", "cat", "ts", "dur", "pid", "tid"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"},
    "i": {"name", "ts", "pid", "tid", "s"},
}
METADATA = {"process_name": "name", "process_labels": "labels", "thread_name": "name"}


def validate(trace):
    """What the Trace Event Format asks for, as Perfetto's importer reads it."""
    assert isinstance(trace["traceEvents"], list) and trace["displayTimeUnit"] in ("ms", "ns")
    spans, named = {}, set()
    arrows = {"s": {}, "f": {}}
    for e in trace["traceEvents"]:
        assert PHASES[e["ph"]] <= e.keys(), (e["ph"], PHASES[e["ph"]] - e.keys())
        assert isinstance(e["name"], str) and e["name"]
        assert type(e["pid"]) is int and type(e.get("tid", 0)) is int
        assert type(e.get("ts", 0)) in (int, float) and math.isfinite(e.get("ts", 0))
        assert e.get("ts", 0) >= 0
        assert isinstance(e.get("args", {}), dict)
        if e["ph"] == "M":
            assert list(e["args"]) == [METADATA[e["name"]]]
            if e["name"] == "thread_name":
                named.add((e["pid"], e["tid"]))
        elif e["ph"] == "X":
            assert math.isfinite(e["dur"]) and e["dur"] >= 0
            spans.setdefault((e["pid"], e["tid"]), []).append(e)
        elif e["ph"] in arrows:
            assert e["id"] not in arrows[e["ph"]]
            arrows[e["ph"]][e["id"]] = e
        else:
            assert e["s"] in ("t", "p", "g")
    assert spans.keys() <= named, "each lane has its name"
    for thread in spans.values():
        check_nesting(thread)
    check_arrows(arrows, spans)
    return spans, arrows


def check_nesting(thread):
    """Spans of one thread begin in order, and lie inside of one another or apart."""
    begins = [e["ts"] for e in thread]
    assert begins == sorted(begins), "times do not go back"
    open_ends = []
    for e in thread:
        end = e["ts"] + e["dur"]
        while open_ends and open_ends[-1] <= e["ts"] + 1e-6:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1] + 1e-6, "spans nest or stand apart"
        open_ends.append(end)


def check_arrows(arrows, spans):
    """Arrows come in pairs, lead forward in time, and both ends stand on a span."""
    assert arrows["s"].keys() == arrows["f"].keys()
    for number, begin in arrows["s"].items():
        end = arrows["f"][number]
        assert begin["ts"] <= end["ts"] and end["bp"] == "e"
        assert (begin["name"], begin["cat"]) == (end["name"], end["cat"])
        for point in (begin, end):
            thread = spans[point["pid"], point["tid"]]
            assert any(s["ts"] <= point["ts"] <= s["ts"] + s["dur"] for s in thread)


@pytest.mark.parametrize(
    "harm",
    [
        {"dur": -1.0}, {"ts": float("nan")}, {"ph": "Q"}, {"tid": "main"}, {"name": ""},
        {"ts": 0.0}, {"dur": 1e12},
    ],
)  # fmt: skip
def test_the_validator_sees_harm(harm):
    with profile() as p:
        for _ in range(3):
            (torch.ones(2, requires_grad=True) * 2).sum().backward()
    trace = as_trace(p.events())
    validate(trace)
    middle = [e for e in trace["traceEvents"] if e["ph"] == "X"][20]
    middle.update(harm)
    with pytest.raises((AssertionError, KeyError)):
        validate(trace)


def test_traces_of_threads_workers_failures_and_steps(tmp_path):
    loader = torch.utils.data.DataLoader(list(range(6)), batch_size=2, num_workers=1)
    model = nn.Linear(2, 1)

    def work():
        for _ in range(20):
            model(torch.ones(1, 2)).sum().backward()

    files = []

    def ready(prof):
        files.append(tmp_path / f"{len(files)}.json")
        prof.export_chrome_trace(files[-1])

    cycles = schedule(wait=1, warmup=1, active=2)
    with profile(
        profile_memory=True, with_modules=True, schedule=cycles, on_trace_ready=ready
    ) as p:
        for _ in range(8):
            others = [threading.Thread(target=work) for _ in range(2)]
            for t in others:
                t.start()
            list(loader)
            with pytest.raises(RuntimeError), record_function("fails"):
                model(torch.ones(1, 3))
            for t in others:
                t.join()
            p.step()
    assert len(files) == 2
    for file in files:
        spans, arrows = validate(json.loads(file.read_text()))
        names = [e["name"] for s in spans.values() for e in s]
        assert names.count("fails") == 2 and len(arrows["s"]) >= 2
        assert sum(n.startswith("ProfilerStep#") for n in names) == 2


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_trace_of_a_training_step(tmp_path, name):
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def work():
        with record_function("step"):
            model(torch.ones(2, 4)).sum().backward()

    with profile(record_shapes=True, profile_memory=True, with_stack=True) as p:
        other = threading.Thread(target=work)
        other.start()
        other.join()
        work()
    p.add_metadata("who", "test")
    p.add_metadata_json("n", "3")
    p.export_chrome_trace(str(tmp_path / name))
    opened = gzip.open if name.endswith(".gz") else open
    with opened(tmp_path / name, "rt") as file:
        trace = json.load(file)
    spans, arrows = validate(trace)
    assert trace["who"] == "test" and trace["n"] == 3 and trace["record_shapes"] == 1
    assert len(spans) == 2 and len(arrows["s"]) == 6
    seen = {(e["cat"], e["name"]) for s in spans.values() for e in s}
    assert {
        ("cpu_op", "aten::linear"),
        ("user_annotation", "step"),
        ("python_function", "nn.Module: Linear_0"),
        ("cpu_op", "AddmmBackward0"),
    } <= seen


def test_stacks(tmp_path):
    model = nn.Linear(512, 512)
    with profile(with_stack=True) as p:
        model(torch.ones(512, 512))
    p.export_stacks(tmp_path / "stacks.txt", "self_cpu_time_total")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert lines and all(int(line.rpartition(" ")[2]) > 0 for line in lines)
    assert any(
        "nn.Module:_Linear_0;" in line and line.rpartition(" ")[0].endswith(";aten::addmm")
        for line in lines
    )
    with pytest.raises(ValueError, match="metric should be one of"):
        p.export_stacks(tmp_path / "x", "none")
    with profile() as p:
        torch.ones(1)
    with pytest.raises(AssertionError, match="with_stack=True"):
        p.export_stacks(tmp_path / "x")
