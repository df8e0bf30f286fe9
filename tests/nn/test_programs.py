"""Small programs against what PyTorch recorded: results, exceptions and warnings."""

import observe
import programs
import pytest

import rushlight as torch

PROGRAMS = list(programs.all_programs())


@pytest.mark.parametrize("name,program", PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_program(name, program, golden, agree):
    seen = observe.attempt(torch, lambda: program(**observe.namespace(torch)))
    agree(seen, golden["programs"][name])


def test_every_program_is_recorded(golden):
    assert {name for name, _ in PROGRAMS} == set(golden["programs"])
