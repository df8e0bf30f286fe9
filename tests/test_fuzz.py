"""A slice of tests/fuzz.py with a fixed seed: random calls neither crash nor write astray."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("ops", [["0/1"], ["hidden"]], ids=["public", "hidden"])
def test_random_calls(ops):
    fuzz = Path(__file__).with_name("fuzz.py")
    words = [sys.executable, "-P", str(fuzz), "--calls", "8", "--seed", "20", "--only", *ops]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout[-3000:] + ran.stderr[-3000:]
