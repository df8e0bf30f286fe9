"""The profiler's page: sums, nesting, bounds; what a reader sees is tested in tests/browser."""

import json
import os
import re
import subprocess
import sys

import pytest

import rushlight as torch
from rushlight import nn, profiler
from rushlight.profiler.names import MODULE, NODE, OP
from rushlight.profiler.page import page_data
from rushlight.profiler.verdict import judge

TRAIN = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "tiny_gpt.py")


def data_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    return data, len(text)


def recorded(**options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profiler.profile(**options) as prof:
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.ones(4, 8)).sum().backward()
            optimizer.step()
    return prof


@pytest.fixture
def machine(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def sums(data, by, of):
    out = {}
    for group in data["groups"]:
        out[group[by]] = out.get(group[by], 0) + group[of]
    return out


def test_sums_nesting_and_names(machine, tmp_path):
    prof = recorded(record_shapes=True, profile_memory=True, with_modules=True)
    profiler.export_html(prof, tmp_path / "p.html")
    data, _ = data_of(tmp_path / "p.html")
    events = prof.profiler.recording.events
    assert data["count"] == len(events) == len(data["begin"]) == len(data["parent"])
    begins, at = [], 0
    for step in data["begin"]:
        begins.append(at := at + step)
    for i, parent in enumerate(data["parent"]):
        if parent >= 0:
            assert begins[parent] <= begins[i]
            assert begins[i] + data["length"][i] <= begins[parent] + data["length"][parent]
    names = {data["names"][k]: n for k, n in sums(data, 0, 5).items()}
    assert names["linear"] == names["addmm"] == 8 and names["AccumulateGrad"] == 16
    roots = [i for i, p in enumerate(data["parent"]) if p < 0]
    own = sum(sums(data, 0, 6).values())
    assert own == sum(data["length"][i] for i in roots), "self times add up to all that ran"
    flops = {data["names"][k]: n for k, n in sums(data, 0, 8).items()}
    assert flops["linear"] + flops["addmm"] == 4 * 2 * 4 * (8 * 16 + 16)
    modules = {data["modules"][k] for k in sums(data, 2, 5) if k >= 0}
    assert {"Sequential", "0", "1", "2"} <= modules
    assert any("4x8" in shape for shape in data["shapes"])


def test_flame_graph_and_memory(machine):
    prof = recorded(record_shapes=True, profile_memory=True, with_modules=True)
    recording = prof.profiler.recording
    from rushlight.profiler import calibration

    data = page_data(recording, judge(recording, calibration.machine()))
    names = {box[0] for box in data["flame"]}
    assert {"Sequential", "backward"} <= names

    def check(box):
        name, spent, _, _, inner = box
        assert sum(b[1] for b in inner) <= spent * 1.001, name
        for b in inner:
            check(b)

    for box in data["flame"]:
        check(box)
    curve = data["curve"]
    live = [sum(part) for part in zip(*curve["live"], strict=True)]
    assert max(live) == data["memory"]["peak"] and curve["time"] == sorted(curve["time"])
    spent = {k: sum(e.end - e.begin for e in recording.events if e.kind == k) for k in range(4)}
    assert spent[OP] and spent[NODE] and spent[MODULE]


def test_a_bare_recording_has_its_page(machine, tmp_path):
    profiler.export_html(recorded(), tmp_path / "p.html")
    data, _ = data_of(tmp_path / "p.html")
    assert data["curve"] is None and data["memory"] is None and data["shapes"] == []
    with profiler.profile() as empty:
        pass
    profiler.export_html(empty, tmp_path / "e.html")
    data, _ = data_of(tmp_path / "e.html")
    assert data["verdict"] is None and data["count"] == 0


def test_a_hundred_thousand_events_stay_small(machine, tmp_path):
    x = [torch.ones(2, n % 17 + 1) for n in range(40)]
    with profiler.profile(record_shapes=True, profile_memory=True, with_modules=True) as prof:
        for n in range(60_000):
            torch.neg(x[n % 40])
            x[n % 40].sum()
    profiler.export_html(prof, tmp_path / "p.html")
    data, size = data_of(tmp_path / "p.html")
    assert data["count"] == 120_000 and len(data["begin"]) == 100_000
    assert size < 6 * 2**20
    assert sum(sums(data, 0, 5).values()) == 120_000, "the table sums up all of them"


def test_the_command_writes_it(tmp_path):
    page = tmp_path / "page.html"
    command = [sys.executable, "-P", "-m", "rushlight", "profile", "--html", page, TRAIN]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0 and "Page: " in done.stderr, done.stderr
    data, size = data_of(page)
    assert data["verdict"]["unit"] == "step" and size < 1_000_000
    rows = [data["rows"][r["row"]] for r in data["verdict"]["rows"]]
    assert "linear, fwd+bwd" in rows and "AdamW.step" in rows
    assert max(data["row"]) < len(data["rows"]) and max(data["place"]) < len(data["places"])
    hurt = tmp_path / "hurt.py"
    hurt.write_text("import torch\ntorch.ones(3) + 1\nraise SystemExit('</script>gone')\n")
    done = subprocess.run([*command[:-1], hurt], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "</script>gone" in done.stderr
    data, _ = data_of(page)
    assert data["status"] == 1
