"""Programs about autograd and about function transforms show what PyTorch showed."""

import json
import lzma
import warnings
from pathlib import Path

import pytest
from func import programs as func_programs

import rushlight as torch

from . import programs

GOLDEN = Path(__file__).parent.parent / "golden"
FILES = {"autograd": programs, "func": func_programs}
PROGRAMS = {group: dict(file.all_programs()) for group, file in FILES.items()}
CASES = [(group, name) for group, named in PROGRAMS.items() for name in named]


@pytest.fixture(scope="session")
def golden():
    read = {group: (GOLDEN / f"{group}.json.xz").read_bytes() for group in PROGRAMS}
    return {group: json.loads(lzma.decompress(data))["programs"] for group, data in read.items()}


@pytest.mark.parametrize("group, name", CASES)
def test_program(group, name, golden):
    show = FILES[group].Show()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PROGRAMS[group][name](torch, show)
    assert show.lines == golden[group][name]


@pytest.mark.parametrize("group", PROGRAMS)
def test_every_program_is_recorded(group, golden):
    assert set(PROGRAMS[group]) == set(golden[group])
