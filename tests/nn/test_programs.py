"""Small programs against what PyTorch recorded: results, exceptions and warnings."""

import observe
import programs
import pytest

import rushlight as torch

PROGRAMS = list(programs.all_programs())


def _exists(op):
    home = torch
    for part in op.split("."):
        home = getattr(home, part, None)
    return home is not None


@pytest.mark.parametrize("name,program", PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_program(name, program, golden, agree):
    missing = [op for op in programs.NEEDS.get(name, ()) if not _exists(op)]
    if missing:
        pytest.skip(f"no {', '.join(missing)}")
    seen = observe.attempt(torch, lambda: program(**observe.namespace(torch)))
    agree(seen, golden["programs"][name])


def test_every_program_is_recorded(golden):
    assert {name for name, _ in PROGRAMS} == set(golden["programs"])
