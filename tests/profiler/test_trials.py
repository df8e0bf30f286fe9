"""rushlight profile --try: regions found and run again, changes measured, nothing disturbed."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

import rushlight as torch
from rushlight import nn, profiler
from rushlight.profiler import regions


def profile(tmp_path, source, *options):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(source))
    report = tmp_path / "report.json"
    command = [sys.executable, "-P", "-m", "rushlight", "profile", "--try", "--report", report]
    done = subprocess.run(
        [*command, *options, script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        timeout=300,
    )
    found = json.loads(report.read_text()) if report.exists() else {"trials": []}
    return done, {t["change"]: t for t in found["trials"]}


TRAIN = """\
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters())
losses = []
for step in range(6):
    x = torch.randn(64, 8)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
    print(step, f"{losses[-1]:.6f}", len(losses))
"""


def test_one_optimizer_step_is_tried_and_nothing_is_disturbed(tmp_path):
    script = tmp_path / "plain.py"
    script.write_text(TRAIN)
    plain = subprocess.run(
        [sys.executable, "-P", "-m", "rushlight", "run", script], capture_output=True, text=True
    )
    done, trials = profile(tmp_path, TRAIN)
    assert done.returncode == 0, done.stderr
    assert done.stdout == plain.stdout, "the program prints and computes what it would"
    assert "Tried on one optimizer step, lines 8-14." in done.stderr
    autocast = trials["bfloat16 autocast"]
    assert autocast["lines"] == [8, 10], "the forward part"
    assert autocast["measured"]["runs"] >= 5 and 0 < autocast["measured"]["difference"] < 1
    assert trials["inference_mode"]["not_tried"] == "lines 8-14 train"
    assert trials["channels_last"]["not_tried"] == "no convolution"
    assert trials["DataLoader(num_workers=2)"]["not_tried"] == "no DataLoader"
    (threads,) = (t for name, t in trials.items() if name.startswith("set_num_threads"))
    if threads["measured"]:
        assert threads["measured"]["difference"] <= threads["measured"]["tolerance"]


def test_a_marked_region_of_inference(tmp_path):
    done, trials = profile(
        tmp_path,
        """\
        import torch, rushlight
        from torch import nn
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
        x = torch.ones(2, 3, 8, 8)
        def answer():
            for i in range(3):
                with rushlight.profiler.region():
                    y = net(x)
                    if i > 5:
                        return y
                    open("written.txt", "a").close() if i > 9 else None
        answer()
        """,
    )
    assert "Tried on the marked region, lines 8-11." in done.stderr, done.stderr
    assert trials["inference_mode"]["measured"]["difference"] == 0
    assert trials["channels_last"]["measured"]["difference"] < 1e-5


def test_a_call_without_a_step_and_a_slow_loader(tmp_path):
    done, trials = profile(
        tmp_path, "import torch\nnet = torch.nn.Linear(4, 4)\nnet(torch.ones(2, 4))\n"
    )
    assert "Tried on the outermost module's call." in done.stderr
    assert trials["inference_mode"]["measured"]["difference"] == 0
    done, trials = profile(
        tmp_path,
        """\
        import time, torch
        from torch.utils.data import DataLoader, Dataset
        class Slow(Dataset):
            def __len__(self):
                return 240
            def __getitem__(self, i):
                time.sleep(0.002)
                return torch.full((2,), float(i))
        net = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=1e-9)
        for i, x in enumerate(DataLoader(Slow(), batch_size=8)):
            opt.zero_grad()
            net(x).sum().backward()
            opt.step()
        """,
    )
    workers = trials["DataLoader(num_workers=2)"]
    assert workers["measured"]["runs"] >= 5 and workers["measured"]["before"] > 0.016


def test_a_calls_arguments_by_name_come_along(tmp_path):
    _, trials = profile(
        tmp_path,
        """\
        import torch
        from torch import nn
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(4, 4)
            def forward(self, x, *, scale, mask=None):
                return self.inner(x) * scale + (0 if mask is None else mask)
        Scaled()(torch.ones(2, 4), scale=3.0, mask=torch.ones(4))
        """,
    )
    assert trials["inference_mode"]["measured"]["difference"] == 0
    assert trials["bfloat16 autocast"]["measured"]["runs"] >= 5


def test_what_writes_or_can_not_be_run_again_is_not_tried(tmp_path):
    done, trials = profile(
        tmp_path,
        """\
        import torch
        net = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            net(torch.ones(1, 2)).sum().backward()
            opt.step()
            with open(f"step{step}.txt", "w") as file:
                file.write("x")
        """,
    )
    assert done.returncode == 0
    assert "could not be run again: TrialRefused" in trials["bfloat16 autocast"]["not_tried"]
    assert sorted(p.name for p in tmp_path.glob("step*")) == [f"step{k}.txt" for k in range(4)]
    done, trials = profile(tmp_path, "import torch\ntorch.ones(3) + 1\n")
    assert trials == {} and "Nothing was tried" in done.stderr


def test_a_block_is_run_again_with_its_names():
    heard = []
    regions.listeners.append(heard.append)
    try:

        def work(n):
            scale = 3
            with profiler.region():
                total = torch.ones(n) * scale
                for k in range(10):
                    if k == 2:
                        break
                    total = total + k
                if n > 2:
                    return total
            return None

        work(3)

        @profiler.region()
        def called(x, y=2):
            return x * y

        called(torch.ones(2), y=5)
    finally:
        regions.listeners.clear()
    block, call = heard
    assert block.run()["total"].tolist() == [4, 4, 4] and not block.trains
    assert block.lines[1] - block.lines[0] == 6
    assert call.run()["result"].tolist() == [5, 5]


def test_a_region_is_a_range_of_a_recording():
    with profiler.profile() as prof, profiler.region("part"):
        nn.Linear(2, 2)(torch.ones(1, 2))
    assert "part" in [e.name for e in prof.events()]


@pytest.mark.parametrize("text", ["yield x", "await x", "x = yield"])
def test_what_yields_is_no_block(text):
    import ast

    statements = ast.parse(f"async def f():\n    {text}" if "await" in text else text).body
    if "await" in text:
        statements = statements[0].body
    block = regions.Block.of(sys._getframe(), statements)
    assert "yields" in block.problem
