"""Trials in the program's process or a fork of it: what fails, what takes long, what is changed."""

import os
import signal
import sys
import time

import pytest

import rushlight as torch
from rushlight.diagnosis import trial
from rushlight.diagnosis.doctor.checks import functions

from .doctor import Report, run


def frame():
    return sys._getframe()


@pytest.mark.parametrize(
    "text", ["1 / 0", "exit()", "__import__('sys').exit(3)", "1 +", "__import__('time').sleep(5)"]
)
def test_what_fails_or_takes_long_gives_nothing(text):
    assert trial.value(frame(), {}, text, 0.05) is None
    assert not trial.expression(frame(), {}, text, 0.05).good


def test_an_interrupt_is_not_kept_from_the_program():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trial.quietly(interrupted)


def test_an_alarm_of_the_programs_own_rings_when_it_is_due():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(time.monotonic()))
    began = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.15)
        assert trial.quietly(lambda: 7) == 7
        assert not rung
        time.sleep(0.3)
        assert len(rung) == 1 and rung[0] - began == pytest.approx(0.15, abs=0.1)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        trial.quietly(lambda: time.sleep(0.1))
        time.sleep(0.05)
        assert len(rung) == 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_backward_that_takes_long_is_let_go(monkeypatch):
    monkeypatch.setattr(functions, "_compare", lambda *_: time.sleep(5))
    check = functions.Functions()
    check.seen = {object: ()}
    assert check.findings(None) == []


# ---- In a fork


def test_a_fork_changes_nothing_here(tmp_path, capfd):
    log, data = tmp_path / "log.txt", tmp_path / "data.txt"
    log.write_text("before\n")
    data.write_text("abcdef")
    counts = []
    with log.open("a") as out, data.open() as read:
        out.write("waiting\n")
        read.seek(2)

        def call():
            counts.append(1)
            print("said", flush=True)
            os.write(1, b"written")
            out.write("more\n")
            out.flush()
            torch.rand(3)
            return read.read(), len(counts)

        state = torch.get_rng_state()
        assert trial.apart(call) == ("cdef", 1)
        assert torch.equal(state, torch.get_rng_state())
        assert not counts and read.tell() == 2
    assert log.read_text() == "before\nwaiting\n"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("call", [
    lambda: 1 / 0, lambda: sys.exit(), lambda: time.sleep(5), lambda: os._exit(3),
    lambda: open("here.txt", "w").close(), lambda: os.system("true"), lambda: (lambda: 0),
])  # fmt: skip
def test_what_does_not_end_well_in_a_fork_gives_nothing(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    assert trial.apart(call, 0.1) is None
    assert len(os.listdir("/proc/self/fd")) == before and not list(tmp_path.iterdir())
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


# Whatever a check wants to know of it at the end, the program's code is not seen to run again.
CALLED = """
import atexit
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

calls = dict(items=0, forward=0, function=0, collate=0)

class Data(Dataset):
    def __init__(self):
        self.rows, self.read = torch.randn(64, 6), 0
    def __len__(self):
        print("length")
        return 64
    def __getitem__(self, i):
        calls["items"] += 1
        self.read += 1
        open("items.txt", "a").write(".")
        print("item", i)
        return self.rows[i], int(self.rows[i].sum() > 0)

class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        calls["function"] += 1
        return x * 0.5
    @staticmethod
    def backward(ctx, gradient):
        calls["function"] += 1
        return gradient * {factor}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.drop, self.out = nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 2)
    def forward(self, x):
        calls["forward"] += 1
        return self.out(self.drop(Half.apply(self.layer(x))))

torch.manual_seed(0)
model, data = Net(), Data()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
atexit.register(lambda: print("at the end", calls, data.read, len(open("items.txt").read())))
for epoch in range(2):
    model.train()
    for x, y in DataLoader(data, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    {evaluating}
    with torch.no_grad():
        for x, y in DataLoader(data, batch_size=16):
            model(x)
print("ended", calls)
"""
VARIANTS = {
    "clean": ("0.5", "model.eval()", []),
    "trapped": ("0.25", "pass", ["dropout-while-evaluating", "function-wrong-gradient"]),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_programs_code_is_not_seen_to_run_again(tmp_path, variant):
    factor, evaluating, expected = VARIANTS[variant]
    script = CALLED.replace("{factor}", factor).replace("{evaluating}", evaluating)
    plain, watched = tmp_path / "plain", tmp_path / "watched"
    for folder in (plain, watched):
        folder.mkdir()
    report = Report(watched, script, "--no-trials")
    assert report.status == 0 and report.stdout == run(plain, script).stdout
    assert (watched / "items.txt").read_text() == (plain / "items.txt").read_text()
    assert sorted(report.ids) == sorted(expected)
