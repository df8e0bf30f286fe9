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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: torch.randn(2, "a"), ("randn", "size", 2, "str")),
        (lambda x: torch.zeros((2, 3, 1.5)), ("zeros", "size", 3, "float")),
        (lambda x: torch.rand(3, torch.tensor(2.0)), ("rand", "size", 2, "Tensor")),
        (lambda x: x.view(1, "a"), ("view", "size", 2, "str")),
        (lambda x: x.sum(dim=(0, "a")), ("sum", "dim", 2, "str")),
        (lambda x: x.repeat(1, 2.0), ("repeat", "repeats", 2, "float")),
        (lambda x: torch.zeros(2, 2.0, dtype=torch.float64), ("zeros", "size", 2, "float")),
    ],
)
def test_the_odd_item_of_a_list_of_ints_is_named(call, words):
    with pytest.raises(TypeError) as found:
        call(torch.zeros(2, 2))
    op, argument, position, given = words
    assert str(found.value) == (
        f"{op}(): argument '{argument}' failed to unpack the object at pos {position} with error "
        f'"type must be tuple of ints,but got {given}"'
    )


def test_a_list_that_begins_with_no_int():
    words = r"must be tuple of ints, but found element of type str at pos 0"
    with pytest.raises(TypeError, match=words):
        torch.empty(("a", 2))


def test_tensors_within_the_data_of_a_tensor():
    one = torch.ones(1)
    assert torch.tensor([one, one]).tolist() == [1.0, 1.0]
    assert torch.tensor([[1.0, 2.0], torch.ones(2)]).tolist() == [[1.0, 2.0], [1.0, 1.0]]
    words = "only one element tensors can be converted to Python scalars"
    for data in ([torch.ones(2), torch.ones(2)], [[torch.ones(3)]], (torch.ones(0),)):
        with pytest.raises(ValueError, match=words):
            torch.tensor(data)
    with pytest.raises(TypeError, match="not a sequence"):
        torch.tensor([[1, 2], 5])
    with pytest.raises(ValueError, match=r"expected sequence of length 2 at dim 1 \(got 3\)"):
        torch.tensor([[1, 2], torch.ones(3)])


def test_a_slice_of_a_number():
    number = torch.tensor(1.0)
    with pytest.raises(IndexError, match=r"slice\(\) cannot be applied to a 0-dim tensor."):
        number[:]
    with pytest.raises(IndexError, match=r"slice\(\) cannot be applied to a 0-dim tensor."):
        number[:] = 2
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 0"):
        number[:, :]


@pytest.mark.parametrize("op", ["max_pool", "avg_pool"])
@pytest.mark.parametrize(("dims", "letters"), [(2, "HW"), (3, "THW")])
def test_windows_that_do_not_go_forward(op, dims, letters):
    pool = getattr(F, f"{op}{dims}d")
    x = torch.ones(1, 2, *[5] * dims)
    odd = [1] * (dims - 1) + [-1]
    given = " ".join(f"d{c}: {step}" for c, step in zip(letters, odd, strict=True))
    with pytest.raises(
        RuntimeError, match=f"^stride should be greater than zero, but got {given}$"
    ):
        pool(x, 2, odd)
    with pytest.raises(RuntimeError, match=r"^stride should be greater than zero, but got "):
        pool(x, 7, -1)
    given = " ".join(f"k{c}: 0" for c in letters)
    with pytest.raises(
        RuntimeError, match=f"^kernel size should be greater than zero, but got {given}$"
    ):
        pool(x, 0, -1)
    if op == "max_pool":
        given = " ".join(
            f"dilation{c}: {step}" for c, step in zip(letters, [*odd[:-1], 0], strict=True)
        )
        with pytest.raises(
            RuntimeError, match=f"^dilation should be greater than zero, but got {given}$"
        ):
            pool(x, 2, 1, 0, [*odd[:-1], 0])
