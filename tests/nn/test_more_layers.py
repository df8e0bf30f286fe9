"""Layers and functions that few programs use."""

import math

import pytest

import rushlight as torch
from rushlight import memory, nn
from rushlight.nn import functional as F


def test_a_mask_and_causal_attention_together():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 2, 5, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    ahead = torch.ones(5, 5, dtype=torch.bool).triu(1)
    floats = torch.randn(5, 5, dtype=torch.float64)
    bools = torch.rand(5, 5) > 0.4
    for mask, whole in (
        (floats, floats.masked_fill(ahead, float("-inf"))),
        (bools, bools & ~ahead),
    ):
        for dtype in (torch.float64, torch.bfloat16):  # the blocked form, and that of plain ops
            given = [t.to(dtype) for t in (q, k, v)]
            at = mask if mask.dtype is torch.bool else mask.to(dtype)
            both = F.scaled_dot_product_attention(*given, attn_mask=at, is_causal=True)
            plain = F.scaled_dot_product_attention(*given, attn_mask=whole.to(at.dtype))
            torch.testing.assert_close(both, plain)
            for a, b in zip(
                torch.autograd.grad(both.square().sum(), (q, k, v)),
                torch.autograd.grad(plain.square().sum(), (q, k, v)),
                strict=True,
            ):
                torch.testing.assert_close(a, b)
        with pytest.raises(RuntimeError, match="attn_mask should not be set when is_causal=True"):
            F.scaled_dot_product_attention(q[0], k[0], v[0], attn_mask=mask, is_causal=True)


def test_cosine_of_short_vectors():
    """Below ``eps`` the norm is a constant, which PyTorch's gradient does not take it for."""
    x = torch.tensor([[0.1, 0.2, 0.05]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[2.0, -1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(nn.CosineSimilarity(eps=0.5), (x, y))


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": "row"}])
def test_long_attention_needs_little_memory(options):
    """Less than twice inputs and output; the scores alone would take 268 MB."""
    torch.manual_seed(0)
    length = 8192
    if options.get("attn_mask") == "row":
        options = {"attn_mask": torch.rand(1, length) > 0.1}
    q, k, v = (torch.randn(1, 1, length, 64) for _ in range(3))
    before = memory.allocated()
    memory.reset_peak()
    out = F.scaled_dot_product_attention(q, k, v, **options)
    assert memory.peak() - before <= 2 * 4 * out.nbytes - 3 * out.nbytes
    rows = slice(4000, 4004)
    scores = q[0, 0, rows] @ k[0, 0].T / 8
    if "attn_mask" in options:
        scores = scores.masked_fill(~options["attn_mask"], -math.inf)
    if "is_causal" in options:
        scores = scores.masked_fill(torch.ones(4, length).triu(4001).bool(), -math.inf)
    torch.testing.assert_close(out[0, 0, rows], scores.softmax(-1) @ v[0, 0])


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_gradients_of_convolutions(rank):
    from rushlight.nn import grad

    torch.manual_seed(0)
    x = torch.randn(2, 4, *[6] * rank, requires_grad=True)
    w = torch.randn(6, 2, *[3] * rank, requires_grad=True)
    options = {"stride": 2, "padding": 1, "dilation": 1, "groups": 2}
    y = getattr(F, f"conv{rank}d")(x, w, **options)
    g = torch.randn_like(y)
    dx, dw = torch.autograd.grad(y, (x, w), g)
    found = getattr(grad, f"conv{rank}d_input")(x.shape, w.detach(), g, **options)
    torch.testing.assert_close(found, dx)
    found = getattr(grad, f"conv{rank}d_weight")(x.detach(), w.shape, g, **options)
    torch.testing.assert_close(found, dw)


def test_linear_cross_entropy():
    layer = nn.LinearCrossEntropyLoss(3, 4, bias=True, label_smoothing=0.1)
    x, target = torch.randn(5, 3), torch.randint(4, (5,))
    logits = F.linear(x, layer.linear.weight, layer.linear.bias)
    assert layer(x, target).equal(F.cross_entropy(logits, target, label_smoothing=0.1))
    places = nn.LinearCrossEntropyLoss(3, 4, out_features=(2,), reduction="none")
    assert places(x, torch.randint(4, (5, 2))).shape == (5, 2)
    with pytest.raises(RuntimeError, match="last dimensions"):
        layer(torch.ones(2, 4), target[:2])
    with pytest.raises(ValueError, match="invalid chunking_method"):
        nn.LinearCrossEntropyOptions(chunking_method="x")


def test_cross_map_normalization():
    """As PyTorch answers to the same numbers."""
    x = torch.arange(1.0, 7.0).view(1, 6, 1, 1)
    found = nn.CrossMapLRN2d(3, alpha=1.0)(x).flatten()
    wanted = torch.tensor([0.4792, 0.5445, 0.4967, 0.4577, 0.4221, 0.5975])
    torch.testing.assert_close(found, wanted, rtol=0, atol=6e-5)
    wide = torch.linspace(-2, 2, 12, dtype=torch.float64).view(1, 6, 1, 2).requires_grad_()
    assert torch.autograd.gradcheck(nn.CrossMapLRN2d(3, 0.2, 0.5, 2.0), wide)
    assert "3, alpha=0.0001, beta=0.75, k=1" in repr(nn.CrossMapLRN2d(3))
    with pytest.raises(ValueError, match="4D"):
        nn.CrossMapLRN2d(3)(torch.ones(3, 4))


def test_low_rank_factors():
    torch.manual_seed(0)
    A = torch.randn(2, 9, 3, dtype=torch.float64) @ torch.randn(2, 3, 7, dtype=torch.float64)
    for given in (A, A.mT):
        U, S, V = torch.svd_lowrank(given, q=3)
        torch.testing.assert_close(U * S.unsqueeze(-2) @ V.mT, given)
    U, S, V = torch.pca_lowrank(A, q=3)
    torch.testing.assert_close(U * S.unsqueeze(-2) @ V.mT, A - A.mean(-2, keepdim=True))
    with pytest.raises(ValueError, match="not greater than min"):
        torch.pca_lowrank(A, q=8)
    M = torch.randn(30, 30, dtype=torch.float64)
    M = M @ M.T
    for largest in (True, False):
        values, vectors = torch.lobpcg(M, k=3, largest=largest, niter=200)
        wanted = torch.linalg.eigvalsh(M)
        wanted = wanted[-3:].flip(0) if largest else wanted[:3]
        torch.testing.assert_close(values, wanted, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(M @ vectors, vectors * values, rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="smaller than"):
        torch.lobpcg(torch.eye(4), k=2)


def test_sums_to_a_size():
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    assert x.sum_to_size(1, 3).tolist() == [[3.0, 5.0, 7.0]]
    assert x.sum_to_size((3,)).grad_fn.name() == "ViewBackward0"
    assert x.sum_to_size(2, 3) is x and x.sum_to_size(()).item() == 15
    with pytest.raises(RuntimeError, match="is not expandable to size"):
        x.sum_to_size(2, 2)
