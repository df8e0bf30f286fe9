"""The verdict on five built cases: the right kind, the right line, and times that add up."""

import json
import os
import subprocess
import sys

import pytest

from rushlight.profiler import calibration

CASES = {
    "compute": (
        """
import torch
a, b = torch.ones(700, 700), torch.ones(700, 700)
for _ in range(40):
    c = a @ b          # HERE
""",
        "matmul",
    ),
    "memory": (
        """
import torch
x = torch.ones(4 * 1024 * 1024)
for _ in range(12):
    y = x.sin_().neg_().abs_().neg_().abs_().neg_()  # HERE
""",
        "neg_",
    ),
    "overhead": (
        """
import torch
x = torch.ones(4)
for _ in range(20000):
    y = x + 1          # HERE
""",
        "add",
    ),
    "waiting": (
        """
import time, torch
from torch.utils.data import DataLoader
class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        time.sleep(0.02)
        return torch.ones(3)
for batch in DataLoader(Slow(), batch_size=2):  # HERE
    batch.sum()
""",
        "DataLoader",
    ),
    "pause": (
        """
import time, torch
x = torch.ones(4)
for _ in range(20):
    y = x * 2
    time.sleep(0.01)
    y = y + 1          # HERE
""",
        "Python, or waits",
    ),
    "copies": (
        """
import torch
x = torch.ones(256, 128, 128)
for _ in range(12):
    x = x.permute(2, 0, 1).contiguous()  # HERE
""",
        "contiguous",
    ),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    calibrated = calibration.measure()
    assert calibrated.gflops > 0 and calibrated.gbytes > 0 and calibrated.op_ns > 0
    return folder


def run(tmp_path, cache, source, *options):
    script = tmp_path / "script.py"
    script.write_text(source)
    command = [sys.executable, "-P", "-m", "rushlight", "profile", *options, str(script)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done, script


@pytest.mark.parametrize("kind", CASES)
def test_the_case_gets_its_kind_and_line(tmp_path, cache, kind):
    source, what = CASES[kind]
    done, script = run(tmp_path, cache, source)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "profile.json").read_text())
    line = 1 + source[: source.index("# HERE")].count("\n")
    expected = {"copies": "memory", "pause": "waiting"}.get(kind, kind)
    row = next(r for r in report["rows"] if r["what"] == what)
    assert row["bound"] == expected, done.stderr
    assert {"file": str(script), "line": line} in row["lines"]
    first = report["findings"][0]
    assert (first["kind"], first["line"]) == (expected, line), done.stderr
    assert first["try"] and first["at_most_seconds"] <= report["seconds"]
    assert len(report["findings"]) <= 5
    total = sum(r["seconds"] for r in report["rows"])
    assert total == pytest.approx(report["seconds"], rel=0.05), "rows add up to the span"
    assert "script.py:" in done.stderr and "not measured" in done.stderr
    assert all(len(text) <= 80 for text in done.stderr.splitlines())
    if kind == "copies":
        assert "permute" in first["try"]


TRAINING = """
import sys, torch
from torch import nn
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.AdamW(model.parameters())
for step in range(12):
    loss = model(torch.ones(256, 64)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
sys.exit(5)
"""


def test_a_training_script(tmp_path, cache):
    done, script = run(tmp_path, cache, TRAINING, "--all", "--trace", "t.json")
    assert done.returncode == 5 and done.stdout == "done\n"
    report = json.loads((tmp_path / "profile.json").read_text())
    assert report["unit"] == "step" and report["steps"] == 12 and report["steps_measured"] == 11
    rows = {r["what"]: r for r in report["rows"]}
    linear = rows["linear, fwd+bwd"]
    forward = 2 * 256 * 64 * 64 + 2 * 256 * 64 * 2
    # Backward: twice that, less the first layer's input, and the sums for two biases.
    assert linear["flops"] == 3 * forward - 2 * 256 * 64 * 64 + 256 * 66
    assert rows["AdamW.step"]["lines"] == [{"file": str(script), "line": 10}]
    memory = report["memory"]
    assert memory["peak"] == sum(memory["categories"].values()) >= 4 * 2 * 256 * 64
    assert {h["category"] for h in memory["holders"]} >= {"parameters", "optimizer state"}
    assert "Memory: peak" in done.stderr
    assert "12 steps" in done.stderr and "AdamW.step" in done.stderr
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    known = json.loads((cache / "rushlight" / "machine.json").read_text())
    assert all(entry["date"] for entry in known.values())


def test_forward_passes_alone_are_advised_inference_mode(tmp_path, cache):
    source = TRAINING.replace("    opt.zero_grad()\n    loss.backward()\n    opt.step()\n", "")
    done, _ = run(tmp_path, cache, source)
    report = json.loads((tmp_path / "profile.json").read_text())
    assert report["unit"] == "run" and done.returncode == 5
    for_all = [f for f in report["findings"] if "inference_mode" in f["try"]]
    assert for_all or len(report["findings"]) == 5


def test_a_script_that_fails_or_does_nothing(tmp_path, cache):
    done, _ = run(tmp_path, cache, "import torch\ntorch.ones(2)\nraise ValueError('no')\n")
    assert done.returncode == 1 and "ValueError: no" in done.stderr
    assert "-- profile:" in done.stderr
    done, _ = run(tmp_path, cache, "print(1)\n")
    assert done.returncode == 0 and "no op ran" in done.stderr


def test_limits_measured_on_a_busy_machine_are_measured_anew(tmp_path, cache):
    source = CASES["compute"][0]
    done, _ = run(tmp_path, cache, source)
    known = cache / "rushlight" / "machine.json"
    good = json.loads(known.read_text())
    low = {k: {**v, "gflops": 0.01, "half_gflops": 0.01} for k, v in good.items()}
    low_home = tmp_path / "low"
    (low_home / "rushlight").mkdir(parents=True)
    (low_home / "rushlight" / "machine.json").write_text(json.dumps(low))
    done, _ = run(tmp_path, low_home, source)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "profile.json").read_text())
    assert report["machine"]["gflops"] > 1
    assert all(r["of_limit"] is None or r["of_limit"] < 2 for r in report["rows"])


NUMBERS = """
import torch
a, b = torch.ones(600, 600), torch.ones(600, 600)
h, d = (a.bfloat16(), b.bfloat16()), (a.double(), b.double())
for _ in range(4):
    a @ b
    torch.mm(*h)
    torch.bmm(d[0][None], d[1][None])
"""


def test_the_limit_is_that_of_the_numbers(tmp_path, cache):
    run(tmp_path, cache, NUMBERS)
    report = json.loads((tmp_path / "profile.json").read_text())
    machine, rows = report["machine"], {r["what"]: r for r in report["rows"]}
    for what, limit in (("matmul", "gflops"), ("mm", "half_gflops"), ("bmm", "double_gflops")):
        row = rows[what]
        reached = row["flops"] * 1e-9 / row["seconds"]
        assert row["of_limit"] == pytest.approx(reached / machine[limit], rel=1e-6), what
    (double,) = [f for f in report["findings"] if "float64" in f["try"]]
    assert double["try"] == "float32 in place of float64" and double["line"] == 8


READS = """
import torch
total, x = 0.0, torch.rand(4000)
for i in range(4000):
    total += x.sum().item()  # HERE
    if x[0] > 2:
        break
rows = [[0.5] * 300] * 300
for i in range(10):
    y = torch.tensor(rows)
"""


def test_reads_and_python_data_are_named(tmp_path, cache):
    _, script = run(tmp_path, cache, READS, "--all")
    report = json.loads((tmp_path / "profile.json").read_text())
    rows = {r["what"]: r for r in report["rows"]}
    assert rows["item"]["ops"] == rows["is_nonzero"]["ops"] == 4000
    assert rows["item"]["lines"] == [{"file": str(script), "line": 5}]
    assert rows["torch.tensor"]["lines"] == [{"file": str(script), "line": 10}]
    finding = next(f for f in report["findings"] if "torch.tensor" in f["what"])
    assert finding["line"] == 10 and "from_numpy" in finding["try"]
    assert all(f["at_most_seconds"] >= 0.01 * report["seconds"] for f in report["findings"])


THREADS = """
import threading, torch
together = threading.Barrier(2)
def work(n):
    together.wait()  # or the second gets the first one's number
    x = torch.ones(64, 64)
    for _ in range(n):
        x = x.tanh()
threads = [threading.Thread(target=work, args=(n,)) for n in (50, 500)]
for t in threads: t.start()
for t in threads: t.join()
"""


def test_rows_are_of_the_busiest_thread_and_say_so(tmp_path, cache):
    done, _ = run(tmp_path, cache, THREADS)
    report = json.loads((tmp_path / "profile.json").read_text())
    assert report["threads"] == 2 and "2 threads ran ops" in done.stderr
    row = next(r for r in report["rows"] if r["what"] == "tanh")
    assert row["ops"] == 500


def test_a_loader_with_workers_is_not_told_to_have_some(tmp_path, cache):
    source = CASES["waiting"][0].replace("batch_size=2)", "batch_size=2, num_workers=1)")
    run(tmp_path, cache, source)
    report = json.loads((tmp_path / "profile.json").read_text())
    first = report["findings"][0]
    assert first["kind"] == "waiting" and first["try"].startswith("more workers than it has")
