"""Checkpoints that PyTorch wrote load with the same contents, and are refused alike."""

import json
import pickle
from pathlib import Path

import pytest

import rushlight as torch

from . import contents

GOLDEN = Path(__file__).parents[1] / "golden" / "serialization"
RECORD = json.loads((GOLDEN / "record.json").read_text())


def plain(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("name", contents.CONTENTS)
@pytest.mark.parametrize("options", [{}, {"mmap": True}, {"weights_only": False}], ids=str)
def test_zip(name, options):
    value = torch.load(GOLDEN / f"{name}.pt", **options)
    assert plain(contents.described(torch, value)) == RECORD["described"][name]


@pytest.mark.parametrize("name", contents.CONTENTS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_legacy(name, weights_only):
    value = torch.load(GOLDEN / f"{name}_legacy.pt", weights_only=weights_only)
    assert plain(contents.described(torch, value)) == RECORD["described"][name]


@pytest.mark.parametrize("mmap", [False, True])
def test_views_share_their_storage(mmap):
    loaded = torch.load(GOLDEN / "views.pt", mmap=mmap)
    loaded["base"].fill_(5)
    assert loaded["transposed"].sum().item() == 60
    assert loaded["expanded"].tolist() == [[5.0] * 3] * 2
    assert loaded["tail"].storage_offset() == 5


def test_mapping_does_not_change_the_file():
    path = GOLDEN / "views.pt"
    before = path.read_bytes()
    torch.load(path, mmap=True)["base"].zero_()
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", contents.REFUSED)
def test_refused(name):
    kind, message = RECORD["refused"][name]
    with pytest.raises(pickle.UnpicklingError) as caught:
        torch.load(GOLDEN / f"refused_{name}.pt")
    assert type(caught.value).__name__ == kind
    assert str(caught.value) == message


def test_allowed_by_the_user():
    from fractions import Fraction

    path = GOLDEN / "refused_fraction.pt"
    expected = {"x": Fraction(1, 2)}
    assert torch.serialization.get_unsafe_globals_in_checkpoint(path) == ["fractions.Fraction"]
    with torch.serialization.safe_globals([Fraction]):
        assert torch.load(path) == expected
        assert torch.serialization.get_safe_globals() == [Fraction]
    assert torch.serialization.get_safe_globals() == []
    with torch.serialization.safe_globals([(Fraction, "fractions.Fraction")]):
        assert torch.load(path) == expected
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path)
    assert torch.load(path, weights_only=False) == expected


def test_blocked_even_when_allowed():
    import os

    allowed = torch.serialization.safe_globals([(os.getcwd, "posix.getcwd")])
    with allowed, pytest.raises(pickle.UnpicklingError, match="module posix is blocked"):
        torch.load(GOLDEN / "refused_blocked.pt")


@pytest.mark.parametrize("location", RECORD["locations"])
def test_absent_device(location):
    kind, message = RECORD["locations"][location]
    with pytest.raises(RuntimeError) as caught:
        torch.load(GOLDEN / "every_dtype.pt", map_location=location)
    assert (type(caught.value).__name__, str(caught.value)) == (kind, message)


def test_environment_decides(monkeypatch):
    path = GOLDEN / "refused_fraction.pt"
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path, weights_only=False)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="should be set, but both were set"):
        torch.load(path)
