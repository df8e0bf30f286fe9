"""Programs about function transforms show what PyTorch showed."""

import json
import lzma
import warnings
from pathlib import Path

import pytest

import rushlight as torch

from . import programs

GOLDEN = Path(__file__).parent.parent / "golden" / "func.json.xz"
PROGRAMS = dict(programs.all_programs())


@pytest.fixture(scope="session")
def golden():
    return json.loads(lzma.decompress(GOLDEN.read_bytes()))["programs"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, golden):
    show = programs.Show()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PROGRAMS[name](torch, show)
    assert show.lines == golden[name]


def test_every_program_is_recorded(golden):
    assert set(PROGRAMS) == set(golden)
