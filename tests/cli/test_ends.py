"""Programs under the doctor and the x-ray end, warn and show their stack as under plain python."""

import json
import os
import signal
import subprocess
import sys

import pytest

from .test_run import program, python  # noqa: F401

PROGRAMS = {
    "attribute": "import rushlight as torch\ntorch.ones(2).reshap(2)",
    "name": "import rushlight as torch\nvalue = 1\nprint(valeu)",
    "import": "from collections import OrderdDict",
    "syntax": "import rushlight\ndef f(:\n    pass",
    "words": "import sys; sys.exit('some words')",
    "status": "import sys; print('out'); sys.exit(7)",
    "group": """
import rushlight as torch
def fail():
    raise ExceptionGroup("two", [ValueError(1), KeyError("k")])
try:
    torch.ones(2) + torch.ones(3)
except RuntimeError:
    fail()
""",
    "hook": """
import sys
def hook(kind, error, traceback):
    print("mine", kind.__name__, traceback.tb_lineno, file=sys.stderr)
    raise KeyError("hook")
sys.excepthook = hook
1 / 0
""",
    # What the doctor stands in the way of: ops, methods in Python, backward, loaders, schedules.
    "frames": """
import traceback
import rushlight as torch
from rushlight import nn
from rushlight.utils.data import DataLoader
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        if i == 2:
            raise ValueError("two")
        return torch.ones(4)
scheduler.step()
loss = nn.functional.mse_loss(model(torch.ones(3, 4)), torch.ones(1, 2))
torch.ones(3).resize(3)
nn.Softmax()(torch.ones(2))
def shown(call):
    try:
        call()
    except Exception:
        traceback.print_exc()
shown(lambda: list(DataLoader(Data(), batch_size=2)))
shown(lambda: torch.ones(2) + torch.ones(3))
shown(lambda: model(torch.ones(3)))
shown(lambda: loss.backward(wrong=1))
shown(lambda: model.load_state_dict({}))
shown(lambda: nn.utils.clip_grad_norm_(3, 1.0))
shown(lambda: optimizer.zero_grad(1, 2))
shown(lambda: scheduler.no_such)
shown(lambda: torch.ones(2).norm(p="no"))
loss.wrong
""",
    "anomaly": """
import warnings
import rushlight as torch
warnings.formatwarning = lambda message, *rest: f"{message}\\n"
with torch.autograd.detect_anomaly():
    x = torch.tensor([-1.0], requires_grad=True)
    y = x.sqrt().sum()
    try:
        y.backward()
    except RuntimeError as error:
        print(error)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_says_what_python_says(program, name):  # noqa: F811
    script = program(PROGRAMS[name])
    plain = python(script, env=_environment())
    commands = ["doctor", "xray"] if name in ("syntax", "group", "anomaly") else ["doctor"]
    for command in commands:
        options = ["--no-trials"] if command == "doctor" else []
        done = python("-m", "rushlight", command, *options, script, env=_environment())
        said, ours, _ = done.stderr.partition(f"-- {command}: ")
        assert ours and said == plain.stderr
        assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode)


def _environment():
    return {**os.environ, "RUSHLIGHT_EXPLAIN": "0"}


def test_what_is_interrupted_ends_as_under_python(program):  # noqa: F811
    script = program("import atexit\natexit.register(print, 'end')\nraise KeyboardInterrupt")
    plain = python(script)
    assert plain.returncode == -signal.SIGINT
    for command in ("doctor", "xray", "profile"):
        done = python("-m", "rushlight", command, script)
        assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
        assert "\nKeyboardInterrupt\n-- " in done.stderr
        assert done.stderr.count("KeyboardInterrupt") == 2  # the line, and the error


def test_what_is_interrupted_is_not_run_again(program):  # noqa: F811
    script = program("""
import torch
from torch import nn
x = torch.randn(8, 3)
model = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model[1] = nn.Linear(8, 1)
for _ in range(5):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
raise KeyboardInterrupt
""")
    said = python("-m", "rushlight", "doctor", script).stderr
    assert "optimizer-misses-parameters" in said and "run again" not in said


def test_reports_do_not_need_the_builtins_of_the_program(program):  # noqa: F811
    script = program("""
import atexit, builtins, torch
def no(*args, **kwargs):
    raise OSError("mine")
builtins.open = builtins.any = no
del builtins.sorted
atexit.register(lambda: print(open is no, hasattr(builtins, "sorted")))
torch.ones(2) + torch.ones(3)
""")
    for command in ("doctor", "xray", "profile"):
        done = python("-m", "rushlight", command, script)
        assert (done.returncode, done.stdout) == (1, "True False\n")
        assert f"-- {command}: " in done.stderr and "mine" not in done.stderr


@pytest.mark.parametrize("words", ["explain", "explain linear-features", "--help", "doctor --help"])
def test_a_reader_may_go_before_the_end(words):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "rushlight", *words.split()],
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_report_without_a_place_is_told_of_before_the_program_runs(program, option):  # noqa: F811
    script = program("print('ran')")
    for path in ("no/folder/x", "."):
        done = python("-m", "rushlight", "doctor", option, path, script)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"rushlight: {option} {path}: cannot be written\n"


def test_a_report_whose_folder_is_gone_does_not_hide_the_findings(program, tmp_path):  # noqa: F811
    (tmp_path / "out").mkdir()
    script = program("import os, torch\nos.rmdir('out')\ntorch.ones(2) + torch.ones(3)")
    for option in ("--json", "--html"):
        (tmp_path / "out").mkdir(exist_ok=True)
        done = python("-m", "rushlight", "doctor", "--no-trials", option, "out/x", script)
        assert done.returncode == 1 and "-- doctor: 1 finding" in done.stderr
        assert done.stderr.splitlines()[-1].startswith("rushlight: [Errno 2]")


@pytest.mark.parametrize("command, page", [("xray", "xray.html"), ("profile", "profile.json")])
def test_an_error_is_explained(program, tmp_path, command, page):  # noqa: F811
    script = program("import torch\na, b = torch.ones(2, 3), torch.ones(4, 3)\na @ b")
    done = python("-m", "rushlight", command, script)
    assert done.returncode == 1 and (tmp_path / page).exists()
    assert done.stderr.count("a @ b.T   (this call tried)") == 1


def test_the_doctor_explains_an_error_once(program):  # noqa: F811
    script = program("import torch\na, b = torch.ones(2, 3), torch.ones(4, 3)\na @ b")
    assert python("-m", "rushlight", "doctor", script).stderr.count("inner dimensions") == 1


def test_reports_are_written_without_stderr(program, tmp_path):  # noqa: F811
    script = program("import sys, torch\nsys.stderr = None\ntorch.ones(2) + torch.ones(3)")
    options = ["--html", "page.html", "--json", "report.json", "--no-trials"]
    done = python("-m", "rushlight", "doctor", *options, script)
    assert (done.returncode, done.stdout) == (1, "")
    assert (tmp_path / "page.html").stat().st_size > 1000
    assert len(json.loads((tmp_path / "report.json").read_text())["findings"]) == 1


def test_the_reasons_for_what_was_not_checked_are_told_on_request(program):  # noqa: F811
    script = program("import torch")
    short = python("-m", "rushlight", "doctor", script).stderr
    assert "Not in this run:" in short and "more reasons (-v)" in short and short.count("\n") < 6
    full = python("-m", "rushlight", "doctor", "-v", script).stderr
    assert "\n  no seed was set: seed-incomplete\n" in full + "\n"


def test_an_option_behind_the_program_is_told_of(program):  # noqa: F811
    script = program("import sys; print(sys.argv[1:])")
    done = python("-m", "rushlight", "doctor", script, "--html", "x.html")
    assert done.stdout == "['--html', 'x.html']\n"
    assert "--html went to the program" in done.stderr
    assert "went to" not in python("-m", "rushlight", "run", script, "--help").stderr
