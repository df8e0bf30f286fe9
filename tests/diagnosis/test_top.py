"""Where an error reaches the top: the interpreter, pytest's report, IPython's display."""

import os
import subprocess
import sys
import types

import pytest

from rushlight.diagnosis import hook, notes
from rushlight.diagnosis.finding import Edit, Finding, Fix

from .doctor import Report, run, write
from .test_shapes import CLASSES

NO_EVAL = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
def predict(x):
    return net(x)
predict(torch.ones(1, 4))
"""

TESTS = """
import pytest
import rushlight as torch
def product():
    return torch.ones(2, 3) @ torch.ones(2, 3)
def test_fails():
    a, b = torch.ones(2, 3), torch.ones(4, 3)
    a @ b
def test_sees_no_note():
    with pytest.raises(RuntimeError, match=r"\\(2x3 and 2x3\\)$"):
        product()
def test_fails_otherwise():
    assert torch.ones(2).sum() == 3
"""


def test_a_fix_that_was_not_tried_says_so(tmp_path):
    said = run(tmp_path, NO_EVAL).stderr
    assert "net.eval() before it   (not tried; rushlight doctor tries it)" in said
    assert "     +    net.eval()" in said


def test_a_call_that_was_tried_says_so(tmp_path):
    said = run(tmp_path, "import torch\na, b = torch.ones(2, 3), torch.ones(4, 3)\na @ b\n").stderr
    assert "a @ b.T   (this call tried)" in said and "a.T @ b" not in said


def test_what_does_not_fit_the_screen_goes():
    edit = Edit("nowhere.py", 1, 1, "\n".join("abcdefgh"))
    fixes = [Fix(f"fix {i}", [edit]) for i in range(3)]
    finding = Finding("x", "error", "f.py", 1, "title", ["row"] * 6, fixes=fixes)
    lines = notes.note_text(finding).splitlines()
    assert len(lines) <= 24 and lines[-1].startswith("  [x] at f.py:1")
    assert any("fix 0" in line for line in lines) and not any("fix 2" in line for line in lines)


def pytest_of(tmp_path, **environment):
    write(tmp_path, "test_it.py", TESTS)
    script = (
        "import pytest, sys\n"
        "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'test_it.py']))\n"
    )
    # By name alone: an installed package would be found by its entry point as well.
    plugin = {
        "PYTEST_PLUGINS": "rushlight.diagnosis.pytest_plugin",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return run(tmp_path, script, **plugin, **environment).stdout


def test_pytest_shows_it_in_the_report(tmp_path):
    said = pytest_of(tmp_path)
    assert "2 failed, 1 passed" in said
    assert said.count("- Rushlight -") == 1 and "a @ b.T" in said


def test_pytest_is_silent_on_request(tmp_path):
    said = pytest_of(tmp_path, RUSHLIGHT_EXPLAIN="0")
    assert "2 failed, 1 passed" in said and "- Rushlight -" not in said


class Shell:
    def showtraceback(self, exc_tuple=None, filename=None, tb_offset=None):
        self.shown = (exc_tuple or sys.exc_info())[1], tb_offset


@pytest.mark.parametrize("version, prints", [((8, 0), True), ((8, 30), False)])
def test_ipython_shows_the_note(monkeypatch, capsys, version, prints):
    shell = Shell()
    module = types.ModuleType("IPython")
    module.get_ipython, module.version_info = lambda: shell, version
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr(hook, "add_note", lambda error: error.add_note("because"))
    for _ in range(2):
        hook._into_ipython()
    error = ValueError("no")
    shell.showtraceback((ValueError, error, None), tb_offset=2)
    assert shell.shown == (error, 2) and error.__notes__ == ["because"]
    assert ("because" in capsys.readouterr().err) is prints
    try:
        raise KeyError("of %run")
    except KeyError as error:
        shell.showtraceback()
        assert shell.shown[0] is error and error.__notes__ == ["because"]


# ---- Typed text


def test_what_is_typed_into_ipython_is_explained(tmp_path):
    pytest.importorskip("IPython")
    cells = "import rushlight as torch\na, b = torch.ones(2, 3), torch.ones(4, 3)\na @ b\n"
    write(tmp_path, "product.py", cells)
    said = subprocess.run(
        [sys.executable, "-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-banner"],
        input=cells + "%run product.py\n", capture_output=True, text=True, timeout=120,
        cwd=tmp_path, env={**os.environ, "TERM": "dumb", "IPYTHONDIR": str(tmp_path / "own")},
    )  # fmt: skip
    assert said.stdout.count("a @ b: the inner dimensions differ") == 2
    assert "[matmul-shapes] at In[3]:1" in said.stdout
    assert "[matmul-shapes] at product.py:3" in said.stdout


CONSOLE = """
import code, linecache
import rushlight
def push(name, number, text):
    linecache.cache[name] = (len(text), None, [text], name)
    code.InteractiveConsole({"torch": rushlight}, name).push(text)
push("<python-input-0>", 0, "torch.ones(2, 3) @ torch.ones(4, 3)\\n")
push("<console>", 1, "torch.ones(3) + torch.ones(4)\\n")
push("<generated-1>", 2, "torch.ones(5) + torch.ones(6)\\n")
"""


def test_what_is_typed_into_a_console_is_explained(tmp_path):
    said = run(tmp_path, CONSOLE).stderr
    assert "[matmul-shapes] at <python-input-0>:1" in said
    assert "[broadcast-shapes] at <console>:1" in said
    assert said.count("more: rushlight explain") == 2


@pytest.mark.parametrize("flag", ["-c", "-"])
def test_a_program_without_a_file_is_explained_as_python_prints_it(tmp_path, flag):
    text = "import torch\na, b = torch.ones(2, 3), torch.ones(4, 3)\na @ b\n"
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "run", flag, *([text] if flag == "-c" else [])],
        input=text, capture_output=True, text=True, timeout=120, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    assert "1. a @ b.T   (this call tried)" in done.stderr
    before = done.stderr[: done.stderr.index("a @ b: the inner")]
    assert "a @ b" not in before or sys.version_info >= (3, 13)


PRODUCT = "torch.ones(2, 3) @ torch.ones(4, 3)"
CAUSE = f"""
import torch
def load():
    try:
        return {PRODUCT}
    except RuntimeError as error:
        raise ValueError("no model") from error
load()
"""
GROUP = f"""
import torch
errors = []
def attempt(work):
    try:
        work()
    except RuntimeError as error:
        errors.append(error)
attempt(lambda: {PRODUCT})
attempt(lambda: torch.ones(2) + torch.ones(3))
raise ExceptionGroup("all of them", errors)
"""
THREAD = f"""
import threading
import torch
def work():
    {PRODUCT}
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
LATER = """
import torch
for n in (3, 2, 4):
    try:
        torch.ones(2) + torch.ones(n)
    except RuntimeError as error:
        first = error
        break
n = 7
raise first
"""


@pytest.mark.parametrize("program", [CAUSE, THREAD], ids=["cause", "thread"])
def test_what_is_printed_on_the_way_is_explained(tmp_path, program):
    done = run(tmp_path, program)
    assert done.stderr.count("[matmul-shapes] at script.py:") == 1
    report = Report(tmp_path, program)
    assert report.ids == ["matmul-shapes"]
    assert report.findings[0]["fixes"][0]["tried"] == "script run again"
    assert "matmul-shapes" not in report.stderr.partition("-- doctor")[0]


def test_each_exception_of_a_group_is_explained(tmp_path):
    said = run(tmp_path, GROUP).stderr
    assert "[matmul-shapes] at script.py:" in said and "[broadcast-shapes] at script.py:" in said
    assert Report(tmp_path, GROUP).ids == ["matmul-shapes", "broadcast-shapes"]


def test_an_error_of_a_loop_that_is_over_is_not_explained_by_later_values(tmp_path):
    done = run(tmp_path, LATER)
    assert done.returncode == 1 and "more: rushlight explain" not in done.stderr


USED = "model = Classifier()\nlogits = model(torch.randint(0, 100, (8, 12)))\n"
IMPORTED = "import torch\nfrom classes import Classifier\n" + USED
ELSEWHERE = "import torch\nimport classes\n" + USED.replace("Classifier()", "classes.Classifier()")


def test_a_layers_fix_is_tried_on_all_of_forward(tmp_path):
    note = " ".join(run(tmp_path, CLASSES + USED).stderr.split())
    assert "Block(width, 64) (tried: all of Classifier.forward, on shapes; gives (8, 5))" in note
    assert "Tried, not offered: nn.Linear(width, hidden) -> nn.Linear(32, hidden)." in note
    assert "Line 8 would then fail: The size of tensor a (32) must match" in note
    assert "at script.py:13" in note


def test_a_layers_fix_in_an_imported_file_is_tried_there(tmp_path):
    write(tmp_path, "classes.py", CLASSES)
    note = " ".join(run(tmp_path, IMPORTED).stderr.split())
    assert "Block(width, 64) (tried: all of Classifier.forward, on shapes; gives (8, 5))" in note


def test_where_the_model_cannot_be_built_again_nothing_is_said_to_be_tried(tmp_path):
    write(tmp_path, "classes.py", CLASSES)
    note = " ".join(run(tmp_path, ELSEWHERE).stderr.split())
    assert "Block(width, 64) (not tried;" in note and "not offered" not in note
