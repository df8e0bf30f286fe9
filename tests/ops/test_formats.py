"""Which memory format results and gradients have: channels last stays where PyTorch keeps it."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
SIZES = {4: (2, 4, 6, 8), 5: (2, 4, 4, 6, 8)}

KEEP = {
    "group_norm": lambda x: F.group_norm(x, 2),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "reflect": lambda x: F.pad(x, (1, 1) * (x.dim() - 2), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 1) * (x.dim() - 2), mode="replicate"),
    "cat": lambda x: torch.cat([x, x], 1),
    "roll": lambda x: torch.roll(x, (1, 2), (1, 2)),
    "fftshift": torch.fft.fftshift,
}
FOUR = {
    "pixel_shuffle": lambda x: F.pixel_shuffle(torch.cat([x, x], 1), 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
}
CASES = [(n, f, d) for d in (4, 5) for n, f in KEEP.items()]
CASES += [(n, f, 4) for n, f in FOUR.items()]


def last(dim, dense=True):
    sizes = SIZES[dim]
    x = torch.rand(sizes[0], *sizes[2:], sizes[1] + (0 if dense else 2)).movedim(-1, 1)
    return x[:, : sizes[1]]


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "cut"])
@pytest.mark.parametrize("f,dim", [c[1:] for c in CASES], ids=[f"{c[0]}-{c[2]}d" for c in CASES])
def test_channels_last_is_kept(f, dim, dense):
    x = last(dim, dense)
    assert f(x).is_contiguous(memory_format=LAST[dim])
    assert f(x.contiguous()).is_contiguous()
    assert f(torch.rand(SIZES[dim]).transpose(0, 1).transpose(0, 1)).is_contiguous()
    assert torch.allclose(f(x), f(x.contiguous()), 1e-4, 1e-5)
    y = x.detach().requires_grad_()
    made = f(y)
    got, = torch.autograd.grad(made, y, torch.rand(made.shape).contiguous(memory_format=LAST[dim]))
    assert got.is_contiguous(memory_format=LAST[dim])


@pytest.mark.parametrize("f", [torch.relu, F.leaky_relu, lambda x: F.threshold(x, 0.1, 2.0),
                               lambda x: F.prelu(x, torch.ones(1)),
                               lambda x: F.group_norm(x, 2),
                               lambda x: F.binary_cross_entropy_with_logits(
                                   x, torch.rand(x.shape), reduction="none"),
                               lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect")],
                         ids=["relu", "leaky_relu", "threshold", "prelu", "group_norm", "logits",
                              "reflect"])
def test_the_gradient_has_the_order_of_the_input(f):
    for x in (last(4), torch.rand(SIZES[4])):
        y = x.detach().requires_grad_()
        made = f(y)
        for grad in (torch.ones(made.shape), torch.ones(made.shape).to(memory_format=LAST[4])):
            got, = torch.autograd.grad(made, y, grad, retain_graph=True)
            assert got.stride() == x.stride()


@pytest.mark.parametrize("f", [F.mse_loss, F.huber_loss, F.smooth_l1_loss])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_the_gradient_of_these_losses_is_contiguous(f, reduction):
    x = last(4).requires_grad_()
    f(x, torch.ones(x.shape), reduction=reduction).sum().backward()
    assert x.grad.stride() == x.stride()  # accumulation takes the leaf's
    made = f(x, torch.ones(x.shape), reduction=reduction)
    got, = torch.autograd.grad(made, x, torch.ones(made.shape))
    assert got.is_contiguous()


def test_batch_norm_gives_a_gradient_of_a_plain_format():
    x = torch.rand(4, 2, 6, 8).transpose(0, 1).requires_grad_()
    got, = torch.autograd.grad(F.batch_norm(x, None, None, training=True).sum(), x)
    assert got.is_contiguous()


def test_stack_splits_what_cat_makes():
    x = last(4)
    assert torch.stack([x, x]).stride() == (384, 192, 1, 32, 4)
    assert torch.stack([x, x], 1).stride() == (384, 4, 1, 64, 8)
    assert torch.stack([x, x], -1).is_contiguous()
    assert torch.equal(torch.stack([x, 2 * x], 1)[:, 1], 2 * x)


def test_einsum_gives_a_contiguous_result_where_one_product_can():
    a, b = torch.rand(3, 4), torch.rand(5, 4)
    made = torch.einsum("ij,kj->ki", a, b)
    assert made.is_contiguous()
    assert torch.allclose(made, b @ a.T)
    assert torch.einsum("ijm,kj->kim", torch.rand(3, 4, 7), b).is_contiguous()
    assert torch.einsum("ij,kjl->kil", a, torch.rand(5, 4, 6)).stride() == (6, 30, 1)


def test_to_a_format_is_the_same_tensor_where_its_strides_suggest_it():
    x = torch.rand(4, 2, 6, 8).transpose(0, 1)
    assert x.to(memory_format=torch.contiguous_format) is x
    cut = last(4, dense=False)
    assert cut.to(memory_format=torch.channels_last) is cut
    assert x.to(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)


LIKE_THE_SECOND = {
    "soft_margin_loss": (lambda x, y: F.soft_margin_loss(y, x, reduction="none")),
    "kl_div": (lambda x, y: F.kl_div(x, y, reduction="none")),
}


@pytest.mark.parametrize("f", LIKE_THE_SECOND.values(), ids=LIKE_THE_SECOND)
def test_a_loss_has_the_order_of_one_of_its_operands(f):
    for x, y in ((torch.rand(4, 6), torch.rand(6, 4).T), (torch.rand(6, 4).T, torch.rand(4, 6))):
        made = f(x, y)
        assert made.stride() == y.stride()
        assert torch.allclose(made, f(x.contiguous(), y.contiguous()))


FLAT = {
    "power of 0": lambda x: x**0,
    "sgn": torch.sgn,
    "xlogy": lambda x: torch.xlogy(x, x.detach() + 1),
    "max": torch.max,
    "median": torch.median,
    "rrelu": lambda x: F.rrelu(x, training=True),
}


@pytest.mark.parametrize("f", FLAT.values(), ids=FLAT)
def test_the_gradient_is_contiguous_whatever_the_input(f):
    x = torch.rand(6, 4).T.requires_grad_()
    made = f(x)
    got, = torch.autograd.grad(made, x, torch.ones((), dtype=made.dtype).expand(made.shape))
    assert got.is_contiguous()


def test_gradients_of_attention_on_rows_that_are_not_dense_are_contiguous():
    q = torch.rand(2, 4, 8, 6).transpose(2, 3).requires_grad_()
    made = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    got, = torch.autograd.grad(made.sum(), q)
    assert got.is_contiguous()
    dense = torch.rand(2, 4, 6, 8).requires_grad_()
    made = F.scaled_dot_product_attention(dense, dense, dense, is_causal=True)
    got, = torch.autograd.grad(made.sum(), dense)
    assert got.stride() == (192, 8, 32, 1)
