"""The TestCase that tests of other libraries take from PyTorch's own."""

import pytest

import rushlight as torch
from rushlight.testing._internal.common_utils import TestCase, freeze_rng_state


class Cases(TestCase):
    def runTest(self):
        pass


def test_assert_equal_compares_tensors():
    case = Cases()
    case.assertEqual(torch.ones(2), torch.ones(2) + 1e-7)
    case.assertEqual([torch.ones(1), 2.0], [torch.ones(1), 2.0])
    case.assertEqual(torch.tensor(2.0), 2.0)
    state = lambda: {"a": ["x", torch.float32, {0: torch.ones(3)}], "b": None}  # noqa: E731
    case.assertEqual(state(), state())
    case.assertEqual(torch.tensor(float("nan")), torch.tensor(float("nan")))
    case.assertNotEqual(torch.ones(2), torch.zeros(2))
    for a, b in ((torch.ones(2), torch.zeros(2)), (1, 2), ("a", "b"), ([1], [1, 2])):
        with pytest.raises(AssertionError):
            case.assertEqual(a, b)
    with pytest.raises(AssertionError, match="dtype"):
        case.assertEqual(torch.ones(2), torch.ones(2).double())
    case.assertEqual(torch.ones(2), torch.ones(2).double(), exact_dtype=False)


def test_random_numbers():
    case = Cases()
    case.setUp()
    first = torch.rand(2)
    with freeze_rng_state():
        inside = torch.rand(2)
    assert torch.equal(torch.rand(2), inside)
    case.setUp()
    assert torch.equal(torch.rand(2), first)
