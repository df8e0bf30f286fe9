"""A check that fails hurts neither the program nor the other checks; one error does not hide a fix
of another."""

import pytest

import rushlight as torch
from rushlight.diagnosis.doctor import Doctor
from rushlight.diagnosis.finding import Finding
from rushlight.diagnosis.registry import Check

from .doctor import Report


class Failing(Check):
    kinds = ("failing",)

    def __init__(self, where):
        self.where = where
        setattr(self, where, self.fail)

    def fail(self, *_):
        raise KeyError(self.where)

    def start(self, doctor):
        if self.where == "listener":
            self.listener = self.fail
            doctor.watch.on("zero_grad", self.listener)


class Working(Check):
    kinds = ("working",)

    def start(self, doctor):
        self.heard = 0
        self.stopped = False
        doctor.watch.on("zero_grad", self.zero_grad)

    def zero_grad(self, optimizer):
        self.heard += 1

    def stop(self, doctor):
        self.stopped = True

    def findings(self, doctor):
        return [None, Finding("working", "note", __file__, 1, f"{self.heard} calls")]


@pytest.mark.parametrize("where", ["start", "stop", "findings", "not_checked", "listener"])
def test_a_check_that_fails_is_told_in_one_line(where, capsys, monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_DOCTOR_DEBUG", raising=False)

    def program():
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        optimizer.zero_grad()
        optimizer.zero_grad()
        return 0, None

    doctor = Doctor(["nowhere.py"], trials=False)
    doctor.checks = [Failing(where), Working()]
    assert doctor.run(program) == 0
    assert [(f.id, f.title) for f in doctor.findings()] == [("working", "2 calls")]
    absent = doctor.not_checked()
    assert doctor.checks[1].stopped
    said = capsys.readouterr().err.splitlines()
    if where == "listener":
        assert said == []
    else:
        assert said == [f"doctor: Failing.{where} failed: KeyError('{where}')"]
    assert absent == [{"id": "failing", "why": "its check failed"}]


def test_the_fix_of_an_error_that_hides_others(tmp_path):
    script = """
        import numpy as np
        import torch
        from torch import nn
        x = torch.from_numpy(np.ones((4, 3)))
        model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(9, 2))
        print(model(x).shape)
        """
    report = Report(tmp_path, script)
    (finding,) = report.findings
    assert (finding["id"], finding["line"]) == ("dtype-mismatch", 4)
    said = "script run again, the errors that follow at script.py:5 mended too"
    assert said in [fix["tried"] for fix in finding["fixes"]]


def test_fixes_of_one_kind_at_two_places_in_a_program_that_ends_in_an_error(tmp_path):
    script = """
        import torch
        from torch import nn
        class Stack(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(3, 3)]
            def forward(self, x):
                return self.layers[0](x)
        class Parts(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = [nn.Linear(3, 3)]
                self.out = nn.Linear(3, 1)
            def forward(self, x):
                return self.out(self.parts[0](x))
        torch.manual_seed(0)
        net = nn.Sequential(Stack(), Parts())
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            opt.zero_grad()
            net(torch.randn(8, 3)).square().mean().backward()
            opt.step()
        raise SystemError("of another kind")
        """
    report = Report(tmp_path, script)
    found = [(f["id"], f["line"]) for f in report.findings]
    assert found == [("modules-in-plain-list", 6), ("modules-in-plain-list", 12)]
    for finding in report.findings:
        assert [fix["tried"] for fix in finding["fixes"]] == ["script run again"]


NO_CLOCK = """
import time
import torch
def refuse(*ignored):
    raise RuntimeError("no clock")
time.perf_counter = time.monotonic = time.time = refuse
model = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(40):
    model(torch.ones(4, 2)).sum().backward()
    opt.step()
print("done")
"""


def test_a_program_that_replaces_the_clock_is_watched(tmp_path):
    report = Report(tmp_path, NO_CLOCK)
    assert report.stdout == "done\n" and report.ids == ["gradients-never-zeroed"]
    assert "failed" not in report.stderr
