"""Exceptions of every kind, otherwise written: the kind, the line at fault, a fix that works."""

import pytest

from .mistakes import calls, graphs, shapes, states, types
from .several import explained

GROUPS = {m.__name__.rpartition(".")[2]: m.MISTAKES for m in
          (calls, graphs, shapes, states, types)}  # fmt: skip
# What no change of text mends by itself.
WITHOUT_FIX = {
    "cut by argmax", "a worker", "numpy roundtrip", "accuracy loss", "index gather",
    "ce_weight_length", "overlap_of_thresholds",
}  # fmt: skip


@pytest.fixture(scope="module", params=GROUPS)
def answers(request):
    group = GROUPS[request.param]
    return group, explained({name: text for name, (_, text) in group.items()})


def test_the_kind_and_the_line_at_fault(answers):
    group, said = answers
    wrong = {}
    for name, (kind, _) in group.items():
        answer = said[name]
        place = answer.get("file"), answer.get("line")
        if (answer.get("id"), place) != (kind, answer["marked"]):
            wrong[name] = (answer["error"], answer.get("id"), place, answer["marked"])
    assert not wrong


def test_a_fix_that_works(answers):
    group, said = answers
    wrong = {
        name: said[name].get("ends")
        for name in group
        if name not in WITHOUT_FIX and "well" not in (said[name].get("ends") or [])
    }
    assert not wrong


def test_evidence_with_numbers_on_one_screen(answers):
    group, said = answers
    for name in group:
        note = said[name]["note"].splitlines()
        assert said[name]["evidence"], name
        changes = [str(fix["edits"]) for fix in said[name]["fixes"] if fix["edits"]]
        assert len(set(changes)) == len(changes), name
        assert len(note) <= 24 and all(len(line) <= 80 and line.isascii() for line in note), name
