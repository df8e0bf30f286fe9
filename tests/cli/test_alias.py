"""``rushlight alias`` puts a torch into an environment, keeps off another, leaves no trace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight

USE = """
import importlib.metadata, importlib.util
assert importlib.util.find_spec("torch") is not None
import torch.nn.functional as F
import torch, rushlight
assert torch is rushlight and F is rushlight.nn.functional
assert importlib.metadata.version("torch") == torch.__version__ == "{version}"
assert "torch" in importlib.metadata.packages_distributions()
print(torch.ones(2))
"""
WORKER = """
import torch, torch.multiprocessing as multiprocessing
def work(index, results):
    import torch
    results[index] = index + 1
if __name__ == "__main__":
    results = torch.zeros(2).share_memory_()
    multiprocessing.spawn(work, (results,), nprocs=2)
    print(results.tolist())
"""


class Environment:
    """A virtual environment with no packages but Rushlight."""

    def __init__(self, folder):
        options = ["--without-pip", "--symlinks", str(folder)]
        subprocess.run([sys.executable, "-m", "venv", *options], check=True, timeout=120)
        self.executable = str(folder / "bin" / "python")
        done = self.python("-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])")
        self.packages = Path(done.stdout.strip())
        os.symlink(Path(rushlight.__file__).parent, self.packages / "rushlight")

    def python(self, *args):
        return subprocess.run(
            [self.executable, "-P", *args], capture_output=True, text=True, timeout=120, check=False
        )

    def alias(self, action):
        done = self.python("-m", "rushlight", "alias", action)
        return done.returncode, done.stdout + done.stderr

    def listing(self):
        return sorted(str(path.relative_to(self.packages)) for path in self.packages.rglob("*"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("environment") / "env")


def test_installed_used_and_removed(environment):
    before = environment.listing()
    assert environment.alias("status") == (1, "not installed\n")
    for _ in range(2):  # a second time it writes the same again
        status, text = environment.alias("install")
        assert (status, "now gives Rushlight" in text) == (0, True), text
    status, text = environment.alias("status")
    assert (status, str(rushlight.__version__) in text) == (0, True), text
    done = environment.python("-c", USE.replace("{version}", rushlight.__version__))
    assert (done.stdout, done.stderr) == ("tensor([1., 1.])\n", "")
    status, text = environment.alias("remove")
    assert (status, "no longer" in text) == (0, True), text
    assert environment.listing() == before
    assert environment.alias("remove") == (1, "rushlight alias: it is not installed\n")


def test_its_record_lists_what_was_written(environment):
    environment.alias("install")
    try:
        info = next(environment.packages.glob("torch-*.dist-info"))
        record = (info / "RECORD").read_text().splitlines()
        listed = {line.split(",")[0] for line in record}
        there = {name for name in environment.listing() if name.startswith("torch")}
        assert listed == {n for n in there if (environment.packages / n).is_file()}
    finally:
        environment.alias("remove")


def test_spawned_processes_have_it(environment, tmp_path):
    environment.alias("install")
    try:
        script = tmp_path / "workers.py"
        script.write_text(WORKER)
        done = environment.python(str(script))
        assert (done.stdout, done.stderr) == ("[1.0, 2.0]\n", "")
        done = environment.python("-m", "torch.utils.collect_env")
        assert rushlight.__version__ in done.stdout and not done.stderr
    finally:
        environment.alias("remove")


@pytest.mark.parametrize("stated", [True, False])
def test_another_torch_is_left_alone(environment, stated):
    package = environment.packages / "torch"
    info = environment.packages / "torch-2.13.0.dist-info"
    package.mkdir()
    (package / "__init__.py").write_text("name = 'another'\n")
    if stated:
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n")
    try:
        before = environment.listing()
        for action in ("install", "remove", "status"):
            status, text = environment.alias(action)
            assert status == 1
            assert ("torch 2.13.0" if stated else str(package)) in text, text
        assert environment.listing() == before
    finally:
        for file in (package / "__init__.py", info / "METADATA"):
            file.unlink(missing_ok=True)
        for folder in (package, info):
            if folder.exists():
                folder.rmdir()


@pytest.mark.parametrize("data", [None, b"", b"\xff\xfe", b"Metadata-Version: 2.1\nName: torch\n"])
def test_the_rest_of_a_torch_is_named(environment, data):
    info = environment.packages / "torch-2.1.0.dist-info"
    info.mkdir()
    files = [info / "METADATA", info / "WHEEL"] if data is not None else []
    for file in files:
        file.write_bytes(data)
    try:
        for action in ("install", "remove", "status"):
            status, text = environment.alias(action)
            assert (status, text.count("\n")) == (1, 1), text
            assert f"what is left of a torch in {info}" in text and "None" not in text, text
            assert "pip uninstall" not in text
    finally:
        for file in files:
            file.unlink()
        info.rmdir()


def test_where_nothing_can_be_written_all_stays(tmp_path, monkeypatch, capsys):
    from rushlight.cli import alias

    def denied(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(alias, "_folder", lambda: tmp_path)
    monkeypatch.setattr(alias, "_other_torch", lambda: None)
    assert alias._install() == 0
    before = sorted(tmp_path.rglob("*"))
    for name in ("os.mkdir", "os.unlink", "os.rmdir"):
        monkeypatch.setattr(name, denied)
    for action in (alias._install, alias._remove):
        assert action() == 1
    monkeypatch.undo()
    assert sorted(tmp_path.rglob("*")) == before
    assert capsys.readouterr().err.splitlines() == [
        f"rushlight alias: cannot {what} {tmp_path}: Permission denied"
        for what in ("write to", "remove it from")
    ]


def test_without_rushlight_it_says_what_to_do(environment):
    environment.alias("install")
    link = environment.packages / "rushlight"
    target = os.readlink(link)
    link.unlink()
    try:
        done = environment.python("-c", "import torch")
        assert "pip uninstall torch" in done.stderr.splitlines()[-1]
    finally:
        os.symlink(target, link)
        environment.alias("remove")
