"""The programs of this folder show what they show in PyTorch."""

import importlib
import json
import lzma
import math
import re
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


NUMERIC = ("curves", "families", "masks", "normalized", "segments", "vectors")
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")


def _close(got: str, recorded: str, share: float, least: float = 1e-6) -> bool:
    """The same text, and numbers that differ by a small share (or by ``least``) at most."""
    if got == recorded:
        return True
    mine, theirs = NUMBER.findall(got), NUMBER.findall(recorded)
    return (
        NUMBER.sub("#", got) == NUMBER.sub("#", recorded)
        and len(mine) == len(theirs)
        and all(
            math.isclose(float(a), float(b), rel_tol=share, abs_tol=least)
            for a, b in zip(mine, theirs, strict=True)
        )
    )


def _tolerances(program) -> tuple:
    """The share by which numbers may differ, and the least difference that counts."""
    if program.__module__ == "training.curves":
        return (1e-8 if program.__name__.endswith("float64") else 1e-4), 0.0
    return ((5e-3 if "rough" in program.__name__ else 1e-5),)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program, recorded", _rows())
def test_shows_what_pytorch_shows(program, recorded):
    shown = run.shown(torch, program)
    if program.__module__.removeprefix("training.") not in NUMERIC:
        assert shown == recorded
        return
    assert len(shown) == len(recorded)
    tolerances = _tolerances(program)
    different = [p for p in zip(shown, recorded, strict=True) if not _close(*p, *tolerances)]
    assert not different
