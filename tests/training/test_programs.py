"""The programs of this folder show what they show in PyTorch."""

import importlib
import json
import lzma
from pathlib import Path

import pytest

import rushlight as torch

from . import run

GOLDEN = Path(__file__).parents[1] / "golden" / "training"


def _rows():
    for file in run.FILES:
        module = importlib.import_module(f"training.{file}")
        recorded = json.loads(lzma.decompress((GOLDEN / f"{file}.json.xz").read_bytes()))
        for name, program in run.programs(module).items():
            yield pytest.param(
                program, recorded["programs"].get(name, ["not recorded"]), id=f"{file}-{name}"
            )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program, recorded", _rows())
def test_shows_what_pytorch_shows(program, recorded):
    assert run.shown(torch, program) == recorded
