"""repr and str against what PyTorch prints."""

import json
import lzma
from pathlib import Path

import pytest

import rushlight as torch
from rushlight._tensor_str import get_printoptions, printoptions

from . import cases

GOLDEN = Path(__file__).parents[1] / "golden" / "printing" / "printing.json.xz"
TEXTS = json.loads(lzma.decompress(GOLDEN.read_bytes()))
CASES = list(cases.cases())


def test_every_case_is_recorded():
    assert sorted(name for name, _, _ in CASES) == sorted(TEXTS["repr"])


@pytest.mark.parametrize(("name", "build", "options"), CASES, ids=[case[0] for case in CASES])
def test_repr(name, build, options):
    assert cases.text_of(torch, build, options) == TEXTS["repr"][name]


def test_format_of_numbers():
    assert cases.formatted(torch) == TEXTS["format"]


def test_format_of_more_than_one_element():
    assert f"{torch.ones(2)}" == "tensor([1., 1.])"
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor\.__format__"):
        f"{torch.ones(2):.2f}"


def test_options_are_restored():
    before = get_printoptions()
    with printoptions(precision=1, sci_mode=True):
        assert repr(torch.tensor([1.25])) == "tensor([1.2e+00])"
    assert get_printoptions() == before


def test_repr_leaves_gradient_mode_and_graph_alone():
    leaf = torch.ones(2, requires_grad=True)
    repr(leaf * 2)
    assert torch.is_grad_enabled()
    assert leaf.grad is None


def test_named_results_show_one_field_a_line():
    found = torch.tensor([[1.0, 3.0], [2.0, 0.0]]).max(0)
    text = "torch.return_types.max(\nvalues=tensor([2., 3.]),\nindices=tensor([1, 0]))"
    assert repr(found) == text
    assert str(found) == text
    assert "logabsdet=tensor(0.))" in str(torch.linalg.slogdet(torch.eye(2)))
