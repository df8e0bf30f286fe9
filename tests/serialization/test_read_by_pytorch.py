"""PyTorch reads what we write. Runs where RUSHLIGHT_PYTORCH names a Python that has PyTorch."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import rushlight as torch

from . import contents

PYTHON = os.environ.get("RUSHLIGHT_PYTORCH")
READ = """
import json, sys, torch
sys.path.insert(0, sys.argv[1])
from tests.serialization import contents
for path, options in json.loads(sys.argv[2]):
    print(json.dumps(contents.described(torch, torch.load(path, **options))))
"""


@pytest.mark.skipif(PYTHON is None, reason="RUSHLIGHT_PYTORCH is not set")
def test_read(tmp_path):
    expected, files = [], []
    for name, make in contents.CONTENTS.items():
        value = make(torch)
        # PyTorch cannot read its own older files of dtypes without a storage class.
        for zip_format in (True,) if name == "stored_dtypes" else (True, False):
            path = str(tmp_path / f"{name}{zip_format}.pt")
            torch.save(value, path, _use_new_zipfile_serialization=zip_format)
            for options in [{}, {"weights_only": False}, {"mmap": True}][: 2 + zip_format]:
                files.append([path, options])
                expected.append(json.loads(json.dumps(contents.described(torch, value))))
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [PYTHON, "-W", "ignore", "-c", READ, root, json.dumps(files)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected
