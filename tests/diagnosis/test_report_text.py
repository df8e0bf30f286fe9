"""The report's text: ASCII, on the standard error from before the program."""

import json
import os
import sys

import pytest

from rushlight.diagnosis.finding import Edit, Finding, Fix, plain
from rushlight.diagnosis.notes import note_text

from .doctor import Report, rushlight, write

NAMES = """
import torch
from torch import nn
größe = 4
class Größer(nn.Module):
    def __init__(self):
        super().__init__()
        self.schichten = [nn.Linear(größe, größe)]  # „Liste“
        self.außen = nn.Linear(größe, 2)
    def forward(self, eingabe):
        return self.außen(self.schichten[0](eingabe))
netz = Größer()
optimizer = torch.optim.SGD(netz.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    netz(torch.randn(8, größe)).square().mean().backward()
    optimizer.step()
größen, ändern = torch.ones(2, 3), torch.ones(4, 3)
größen @ ändern
"""
SETTINGS = {
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ascii": {"PYTHONIOENCODING": "ascii:strict"},
    "utf-8": {"PYTHONIOENCODING": "utf-8"},
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_names_in_other_letters(tmp_path, monkeypatch, setting):
    for name, value in SETTINGS[setting].items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "nä"
    folder.mkdir()
    script = write(folder, "größe.py", NAMES)
    done = rushlight(
        tmp_path, "doctor", "--no-trials", "--json", "out.json", "--html", "out.html", script
    )
    report = done.stderr[done.stderr.index("-- doctor: 2 findings") :]
    assert done.returncode == 1 and report.isascii()
    assert r"gr\xf6\xdfen @ \xe4ndern.T" in report
    assert r"+        self.schichten = nn.ModuleList([nn.Linear(gr\xf6\xdfe" in report
    ids = [f["id"] for f in json.loads((tmp_path / "out.json").read_text())["findings"]]
    assert ids == ["matmul-shapes", "modules-in-plain-list"]
    assert "matmul-shapes" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_a_note_on_an_error_is_ascii():
    fix = Fix("größer", [Edit("nirgends.py", 1, 1, "größe = 2")])
    finding = Finding("x", "error", "nä\udcff.py", 1, "„größe“", ["Ω" * 30], fixes=[fix])
    note = note_text(finding)
    assert note.isascii() and r"gr\xf6\xdfe = 2" in note and r"n\xe4\udcff.py:1" in note
    assert all(len(line) <= 80 for line in note.splitlines())
    assert plain("a\N{SNOWMAN}") == r"a\u2603"


ENDS = {
    "replaced": "sys.stderr = io.StringIO()",
    "within": "contextlib.redirect_stderr(io.StringIO()).__enter__()",
    "closed": "sys.stderr.close()",
    "none": "sys.stderr = None",
    "both": "sys.stdout = sys.stderr = open(os.devnull, 'w')",
    "deleted": "del sys.stderr, sys.__stderr__",
    "a file": "sys.stderr = open('log.txt', 'w')",
}


@pytest.mark.parametrize("end", ENDS)
def test_the_report_is_seen_where_the_program_took_stderr(tmp_path, end):
    report = Report(tmp_path, f"import contextlib, io, os, sys\nimport torch\n{ENDS[end]}\n")
    assert report.status == 0
    assert report.stderr.startswith("-- doctor: no finding")


def test_nothing_is_written_to_a_file_that_took_its_place(tmp_path):
    script = """
        import os, sys
        import torch
        sys.stderr.close()
        os.close(2)
        assert os.open("data.txt", os.O_WRONLY | os.O_CREAT) == 2
        """
    report = Report(tmp_path, script)
    assert report.status == 0 and report.stderr == ""
    assert (tmp_path / "data.txt").read_text() == ""


def test_what_the_program_says_at_its_end_goes_where_it_wants(tmp_path):
    script = """
        import atexit, io, sys
        import torch
        mine = sys.stderr = io.StringIO()
        atexit.register(lambda: print(repr(mine.getvalue())))
        sys.exit("größe")
        """
    report = Report(tmp_path, script)
    assert (report.status, report.stdout) == (1, "'größe\\n'\n")
    assert report.stderr.startswith("-- doctor: no finding")


def test_without_stderr_nothing_is_told(tmp_path):
    script = write(tmp_path, "script.py", "import torch\nprint('out')\n")
    command = f"{sys.executable} -P -m rushlight doctor {script} 2>&-"
    with os.popen(command) as done:
        assert done.read() == "out\n"
