"""Chrome traces: phases, nesting, threads and arrows; stacks for flame graphs."""

import gzip
import json
import threading

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.profiler import profile, record_function


def validate(trace):
    """What the Trace Event Format asks for, as Perfetto's importer reads it."""
    spans = {}
    arrows = {"s": {}, "f": {}}
    for e in trace["traceEvents"]:
        assert e["ph"] in "MXsfi" and isinstance(e["name"], str)
        assert isinstance(e["pid"], int) and isinstance(e["tid"], int) and e["ts"] >= 0
        if e["ph"] == "X":
            assert e["dur"] >= 0
            spans.setdefault((e["pid"], e["tid"]), []).append(e)
        elif e["ph"] in arrows:
            assert e["id"] not in arrows[e["ph"]]
            arrows[e["ph"]][e["id"]] = e
    for thread in spans.values():
        open_ends = []
        for e in sorted(thread, key=lambda e: (e["ts"], -e["dur"])):
            end = e["ts"] + e["dur"]
            while open_ends and open_ends[-1] <= e["ts"] + 1e-6:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1] + 1e-6, "spans nest or stand apart"
            open_ends.append(end)
    assert arrows["s"].keys() == arrows["f"].keys()
    for number, begin in arrows["s"].items():
        end = arrows["f"][number]
        assert begin["ts"] <= end["ts"] and end["bp"] == "e"
        for point in (begin, end):  # each end stands on a span, or the arrow is lost
            thread = spans[point["pid"], point["tid"]]
            assert any(s["ts"] <= point["ts"] <= s["ts"] + s["dur"] for s in thread)
    return spans, arrows


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
