"""Element types that a kernel was not written for are refused, never computed with by chance."""

import pytest

from .under_test import torch

F = torch.nn.functional if torch is not None else None


@pytest.mark.parametrize(
    "call",
    [
        lambda z: F.embedding(torch.tensor([1]), z).abs().sum().backward(),
        lambda z: F.embedding_bag(torch.tensor([[1]]), z),
        lambda z: torch.softmax(z, 1).abs().sum().backward(),
        lambda z: F.layer_norm(z, (3,)),
        lambda z: F.cross_entropy(z, torch.tensor([0, 1])),
    ],
)
def test_complex_numbers_are_refused(call):
    with pytest.raises((NotImplementedError, RuntimeError)):
        call(torch.ones(2, 3, dtype=torch.complex64, requires_grad=True))
