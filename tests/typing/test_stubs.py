"""The type stubs: they are those of the live op table, and a type checker can use them."""

import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as torch

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def run(*command):
    return subprocess.run(
        [sys.executable, *command], cwd=HERE, capture_output=True, text=True, check=False
    )


def test_stubs_are_those_of_the_op_table():
    found = run(str(ROOT / "tools" / "stubs.py"), "--check")
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_type_checker_reads_a_program(tmp_path):
    pytest.importorskip("mypy")
    options = ["--strict", "--allow-untyped-calls", "--follow-imports=silent"]
    found = run("-m", "mypy", *options, "--cache-dir", str(tmp_path), "program.py")
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_package_says_that_it_is_typed():
    home = Path(torch.__file__).parent
    assert (home / "py.typed").exists() and (home / "_C.pyi").exists()
