"""Odd things that programs do: deep chains, contexts filled with anything, results in pickles."""

import copy
import pickle
import subprocess
import sys

import pytest

import rushlight as torch

F = torch.nn.functional


@pytest.mark.parametrize("value", [5, "text", [1], {}])
@pytest.mark.parametrize("name", ["to_save", "dirty_tensors", "non_differentiable"])
def test_a_context_that_holds_no_tuple(name, value):
    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, value)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match=f"{name} attribute is expected to be a tuple"):
        Odd.apply(torch.ones(2, requires_grad=True))


DEEP = {
    "gradients of gradients": """
        t = torch.zeros(1)
        for _ in range(300_000):
            above = torch.zeros(1)
            above.grad = t
            t = above
        del t, above
    """,
    "tensors in slots": """
        class Link(torch.Tensor):
            __slots__ = ("next",)
        t = torch.zeros(1).as_subclass(Link)
        for _ in range(300_000):
            above = torch.zeros(1).as_subclass(Link)
            above.next = t
            t = above
        del t, above
    """,
}


@pytest.mark.parametrize("name", DEEP)
def test_a_deep_chain_is_freed(name):
    lines = [line[8:] for line in DEEP[name].splitlines()]
    program = "\n".join(["import rushlight as torch", *lines, "print('freed')"])
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "freed\n"), done.stderr


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: torch.tensor_split(torch.ones(3), 2**40), "is too long"),
        (lambda: torch.split(torch.ones(1).expand(2**62), 1), "is too long"),
        (lambda: torch.split_with_sizes(torch.ones(0), [2**62] * 4), "sum exactly to 0"),
        (
            lambda: torch.nn.LSTM(2, 3)(torch.ones(0, 1, 2)),
            "Expected sequence length to be larger than 0 in RNN",
        ),
    ],
)
def test_sizes_that_cannot_be(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_a_part_larger_than_any_tensor():
    assert [p.tolist() for p in torch.split(torch.arange(3), 2**63 - 1)] == [[0, 1, 2]]


def test_statistics_stay_where_one_of_them_cannot_be_written():
    mean, var = torch.zeros(3), torch.zeros(1).expand(3)
    with pytest.raises(RuntimeError):
        torch.instance_norm(torch.rand(2, 3, 4), None, None, mean, var, True, 0.1, 1e-5, False)
    assert mean.tolist() == [0, 0, 0]


def test_a_row_that_attends_to_nothing():
    q = torch.rand(1, 2, 3, 4, requires_grad=True)
    mask = torch.zeros(3, 3).masked_fill(torch.tensor([[True], [False], [False]]), -torch.inf)
    out = F.scaled_dot_product_attention(q, q, q, mask.requires_grad_())
    assert out[:, :, 0].abs().sum() == 0
    out.sum().backward()
    assert torch.isfinite(q.grad).all() and torch.isfinite(mask.grad).all()


@pytest.mark.parametrize(
    "value",
    [torch.ones(2).max(0), torch.sin, torch._C._nn.gelu, torch.Tensor.add],
    ids=["named result", "function", "nn", "method"],
)
def test_pickles(value):
    again = pickle.loads(pickle.dumps(value))
    assert type(again) is type(value)
    if isinstance(value, tuple):
        assert again.values == value.values and type(again) is torch.return_types.max
    else:
        assert again is value


def test_named_results_are_a_module_of_the_package():
    assert isinstance(torch.ones(2).max(0), torch.return_types.max)
    with pytest.raises(AttributeError, match="has no attribute 'sin'"):
        torch.return_types.sin  # noqa: B018


def test_a_copied_generator_goes_on_alike():
    generator = torch.Generator().manual_seed(3)
    torch.rand(5, generator=generator)
    again = copy.deepcopy(generator)
    assert again.initial_seed() == 3
    assert torch.equal(torch.rand(4, generator=again), torch.rand(4, generator=generator))
