"""``rushlight run`` runs programs as python does, with torch meaning Rushlight."""

import marshal
import os
import py_compile
import re
import subprocess
import sys
import zipfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

SHOW = """
import sys
print([sys.argv, sys.path[0], __name__, __file__, __package__, __spec__ and __spec__.name])
print(sorted(name for name in globals() if not name.startswith("__")))
"""
SAME = """
import sys
import torch
import torch.utils.data as direct
from torch.utils.data import DataLoader
import torch.utils.data._utils.collate as collate
import rushlight
assert torch is rushlight
assert direct is rushlight.utils.data and direct.DataLoader is DataLoader
assert torch.__name__ == sys.modules["rushlight"].__name__ == "torch"
assert torch.__spec__.name == "rushlight" == torch.__package__
for name, module in list(sys.modules.items()):
    if name.startswith("torch."):
        ours = sys.modules["rushlight" + name[5:]]
        assert module is ours, name
        assert module.__name__ == module.__spec__.name == ours.__name__, name
        assert not module.__name__.startswith("torch"), name
assert sys.modules["torch.utils"].data is direct
print("same")
"""


def python(*args, **options):
    options.setdefault("timeout", 120)
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, check=False, **options
    )


def run(*args, **options):
    return python("-m", "rushlight", "run", *args, **options)


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="program.py"):
        (tmp_path / name).write_text(text)
        return name

    return write


def test_one_module_object(program):
    done = run(program(SAME))
    assert (done.stdout, done.stderr, done.returncode) == ("same\n", "", 0)


def test_without_run_torch_is_not_ours(program):
    script = program("import rushlight, sys; print('torch' in sys.modules)")
    assert python(script).stdout == "False\n"


@pytest.mark.parametrize("args", [[], ["a", "--flag", "-m", "--", "--help"], ["--version"]])
def test_looks_like_python(program, args):
    script = program(SHOW)
    ours, theirs = run(script, *args), python(script, *args)
    assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)


def test_module_looks_like_python(program):
    program(SHOW, "shown.py")
    for args in (["-m", "shown", "x", "-y"], ["-m", "absent_module"]):
        ours, theirs = run(*args), python(*args)
        assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)
        assert ours.returncode == theirs.returncode


def test_folder_looks_like_python(program, tmp_path):
    (tmp_path / "app").mkdir()
    program(SHOW, "app/__main__.py")
    ours, theirs = run("app", "x"), python("app", "x")
    assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)


EVERYTHING = """
import inspect, sys
print(sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
print({n: type(v).__name__ if n in ("__loader__", "__spec__") else v for n, v in globals().items()
       if n not in ("__builtins__", "inspect", "sys")})
print(type(__builtins__), inspect.ismodule(__builtins__), repr(sys.modules["__main__"]))
def annotated(x: int): pass
print(annotated.__annotations__)
if len(sys.argv) > 1:
    annotated()
"""


def compiled(name):
    py_compile.compile("program.py", cfile=name)


def zipped(name, before=b""):
    with zipfile.ZipFile(name, "w") as file:
        file.write("program.py", "__main__.py")
    whole = before + Path(name).read_bytes()
    Path(name).write_bytes(whole)


def same(*args, **options):
    ours, theirs = run(*args, **options), python(*args, **options)
    hidden = [re.sub("0x[0-9a-f]+", "0x", done.stdout) for done in (ours, theirs)]
    assert hidden[0] == hidden[1]
    assert (ours.stderr, ours.returncode) == (theirs.stderr, theirs.returncode)
    return ours


def test_everything_python_runs(program, tmp_path):
    program(EVERYTHING)
    (tmp_path / "deep").mkdir()
    for name in ("no_extension", "named.zip", "deep/own.py"):
        program(EVERYTHING, name)
    os.symlink("deep/own.py", "link.py")
    compiled("program.pyc")
    compiled("no_extension_either")
    zipped("archive")
    zipped("with_a_head", b"#!/usr/bin/env python3\n")
    here = ["./program.py", "deep/../program.py", "link.py", "no_extension", "named.zip"]
    for name in [*here, "program.pyc", "no_extension_either", "archive", "with_a_head"]:
        assert same(name, "x").stdout, name
    for args in (["-m", "program", "x"], ["-mprogram"], ["-c", EVERYTHING, "-x"]):
        assert same(*args).stdout, args
    assert python("-m", "rushlight", "doctor", "--verbose", "-mprogram").returncode == 0
    for args in ["-m", "program"], ["program.py"], ["-"]:
        assert "'-mx'" in same(*args, "-mx", input=EVERYTHING).stdout
    assert same("-", "x", input=EVERYTHING).stdout
    assert same("/dev/stdin", input=EVERYTHING).stdout
    assert same("-", input="").returncode == 0
    assert same("-", input="import sys\nprint(repr(sys.stdin.read()))\n").stdout == "''\n"


def test_folders_and_zips_come_first_on_a_safe_path_too(program):
    program(EVERYTHING)
    zipped("archive")
    ours, theirs = python("-P", "-m", "rushlight", "run", "archive"), python("-P", "archive")
    assert ours.stdout.splitlines()[0] == theirs.stdout.splitlines()[0]


@pytest.mark.parametrize(
    "name, data",
    [
        ("short.pyc", b"\xa7"),
        ("other.pyc", b"print(1)"),
        ("cut.pyc", MAGIC_NUMBER + bytes(12) + b"\xe3"),
        ("no_code.pyc", MAGIC_NUMBER + bytes(12) + marshal.dumps(5)),
        ("latin.py", b"# coding: latin-1\nprint(ascii('\xe9'))"),
        ("marked.py", b"\xef\xbb\xbfprint(1)"),
        ("undeclared.py", b"print(1)\n'\xe9'"),
        ("named.py", b"# Andr\xe9, coding: latin-1\nprint(ascii('\xe9'))"),
        ("second.py", b"\xef\xbb\xbf\n# coding: utf-8\nprint(ascii('\xc3\xa9'))"),
        ("third.py", b"#\n\n# coding: latin-1\n'\xe9'"),
        ("after_code.py", b"1\n# coding: latin-1\n'\xe9'"),
        ("unknown.py", b"# coding: nothing\nprint(1)\n'\xe9'"),
        ("unneeded.py", b"# coding: nothing\nprint(1)"),
        ("narrow.py", b"# coding: ascii\nprint(1)\n'\xc3\xa9'"),
        ("both.py", b"\xef\xbb\xbf# coding: latin-1\nprint(1)\n'\xe9'"),
        ("broken.zip", b"PK\x03\x04"),
        ("returns.py", b"print(1)\r\nprint('''a\r\nb''')\r\n1 / 0"),
    ],
)
def test_what_is_no_program_is_told_as_python_does(program, tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    same(name)


# Patch releases of Python say different things of it, some of them that a string does not end.
def test_null_bytes_are_refused(program, tmp_path):
    (tmp_path / "null.py").write_bytes(b"print(1)\n'a\0b'\n")
    ours, theirs = run("null.py"), python("null.py")
    assert (ours.stdout, ours.returncode) == (theirs.stdout, theirs.returncode) == ("", 1)
    assert 'null.py", line 2\n' in ours.stderr
    assert ours.stderr.endswith("SyntaxError: source code cannot contain null bytes\n")


def test_a_program_from_a_pipe(program):
    shown = "import sys; print(sys.path[0], __file__.startswith('/dev/fd/'))"
    for command in ("", " -m rushlight run", " -m rushlight xray"):
        text = f'{sys.executable}{command} <(echo "{shown}")'
        done = subprocess.run(
            ["bash", "-c", text], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.stdout.endswith("/dev/fd True\n"), (command, done)
    text = f"{sys.executable} -m rushlight run <(printf 'print(1)\\n\\xe9')"
    done = subprocess.run(["bash", "-c", text], capture_output=True, check=False, timeout=60)
    assert done.stderr.startswith(b"SyntaxError: Non-UTF-8 code"), done


def test_reports_know_the_lines_of_a_typed_program(program):
    text = "import torch\na = torch.ones(2, 3)\na @ a\n"
    for args, words in ((["-"], {"input": text}), (["-c", text], {})):
        done = python("-m", "rushlight", "doctor", *args, **words)
        assert "matmul-shapes" in done.stderr, done.stderr
        assert "a @ a.T" in done.stderr, done.stderr
    piped = f"{sys.executable} -m rushlight doctor <(printf '{text}')".replace("\n", "\\n")
    done = subprocess.run(["bash", "-c", piped], capture_output=True, check=False, timeout=60)
    assert b"matmul-shapes" in done.stderr and b"a @ a.T" in done.stderr, done.stderr


TRAP = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(5):
    model(torch.ones(2, 4)).pow(2).mean().backward()
    optimizer.step()
"""


def test_what_cannot_run_again_is_not_tried(program):
    program(TRAP)
    compiled("program.pyc")
    zipped("archive")
    again = python("-m", "rushlight", "doctor", "./program.py").stderr
    assert "script run again" in again, again
    for args, words in ((["-"], {"input": TRAP}), (["program.pyc"], {}), (["archive"], {})):
        done = python("-m", "rushlight", "doctor", *args, **words)
        assert "gradients-never-zeroed" in done.stderr, done.stderr
        assert "run again" not in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "import sys; sys.exit(3)",
        "import sys; sys.exit('some words')",
        "raise SystemExit",
        "def f():\n    raise ValueError('x')\nf()",
        "try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError('k') from e",
        "import sys\nsys.excepthook = lambda *a: print('mine', a[0].__name__, a[2].tb_lineno)\n1/0",
        "def f(:",
        "raise KeyboardInterrupt",
        "import os; os._exit(5)",
        "import atexit; atexit.register(print, 'last'); 1 / 0",
        "import threading; threading.Thread(target=print, args=['t']).start()",
    ],
)
def test_ends_like_python(program, text):
    script = program(text)
    ours, theirs = run(script), python(script)
    assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)
    assert ours.returncode == theirs.returncode


def test_absent_script(program):
    ours, theirs = run("absent.py"), python("absent.py")
    assert (ours.stderr, ours.returncode) == (theirs.stderr, theirs.returncode)


def test_absent_submodule(program):
    done = run(program("import torch.no_such_part"))
    assert done.returncode == 1
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'torch.no_such_part'\n")
    assert "rushlight" not in done.stderr


WORKERS = """
import multiprocessing, sys
import torch

def work(results):
    import torch.utils.data
    results.put([torch.__name__, torch.utils.data.__name__, sys.modules["torch"].__name__])

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        results = context.Queue()
        process = context.Process(target=work, args=(results,))
        process.start()
        print(method, results.get(timeout=100))
        process.join()
        assert process.exitcode == 0
"""


def test_workers_have_it_too(program):
    done = run(program(WORKERS))
    assert done.stderr == ""
    expected = ["torch", "rushlight.utils.data", "torch"]
    assert done.stdout.splitlines() == [
        f"{method} {expected}" for method in ("fork", "spawn", "forkserver")
    ]


LOADER = """
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, index):
        return torch.tensor(index) ** 2

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        loader = DataLoader(Squares(), 3, num_workers=1, multiprocessing_context=method)
        print([batch.tolist() for batch in loader])
"""


def test_loader_workers(program):
    done = run(program(LOADER))
    assert done.stderr == ""
    assert done.stdout == "[[0, 1, 4], [9, 16, 25]]\n" * 2


PICKLE = """
import pickle, sys
import torch
data = pickle.dumps([torch.ones(2), torch.nn.Parameter(torch.ones(1))])
assert b"rushlight" not in data, data
assert pickle.loads(data)[0].tolist() == [1.0, 1.0]
import importlib.metadata
assert importlib.metadata.version("torch") == torch.__version__
assert importlib.metadata.packages_distributions()["torch"][0] == "torch"
assert "torch" in [found.metadata["Name"] for found in importlib.metadata.distributions()]
open("tensors.pickle", "wb").write(data)
print("ok")
"""


def test_plain_pickles_name_torch(program):
    done = run(program(PICKLE))
    assert (done.stdout, done.stderr) == ("ok\n", "")
    reader = os.environ.get("RUSHLIGHT_PYTORCH")
    if reader:
        read = "import pickle; print(pickle.load(open('tensors.pickle', 'rb')))"
        environment = {**os.environ, "PYTHONPATH": ""}
        done = subprocess.run(
            [reader, "-c", read], capture_output=True, text=True, check=False, env=environment
        )
        assert "tensor([1., 1.])" in done.stdout


def test_version_and_help():
    done = python("-P", "-m", "rushlight", "--version")
    assert done.stdout.startswith("rushlight ")
    assert done.returncode == 0
    done = python("-P", "-m", "rushlight")
    assert done.returncode == 2
    assert "run a program with torch meaning Rushlight" in done.stderr
    assert python("-P", "-m", "rushlight", "fly").returncode == 2
    assert "a script, a folder or zip" in python("-P", "-m", "rushlight", "run", "--help").stdout


def test_a_command_without_a_script_says_so():
    for command in "run", "doctor", "xray", "profile":
        ended = python("-P", "-m", "rushlight", command)
        assert ended.returncode == 2
        assert ended.stderr.endswith("error: the following arguments are required: script\n")
