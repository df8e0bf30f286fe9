"""Products in all layouts, of bfloat16 too; attention and LSTM layers against plain ops."""

import os
import subprocess
import sys

import pytest

import rushlight as torch
from rushlight.autograd import gradcheck, gradgradcheck

SIZES = [(1, 1, 1), (1, 70, 33), (3, 40, 7), (13, 33, 17), (49, 1, 64), (60, 65, 131), (5, 9, 8200),
         (60, 40, 8200)]


def operand(rows, columns, layout):
    if layout == "transposed":
        return torch.randn(columns, rows).bfloat16().t()
    if layout == "sliced":
        return torch.randn(rows, columns * 2 + 3).bfloat16()[:, 3::2]
    if layout == "offset":
        return torch.randn(rows, columns + 3).bfloat16()[:, 3:]
    return torch.randn(rows, columns).bfloat16()


def close(result, exact, depth):
    assert result.dtype == torch.bfloat16 and result.shape == exact.shape
    error = (result.double() - exact).abs() / (exact.abs() + depth**0.5)
    assert float(error.max()) < 0.005


@pytest.mark.parametrize("left", ["dense", "transposed", "sliced", "offset"])
@pytest.mark.parametrize("right", ["dense", "transposed", "sliced", "offset"])
def test_bfloat16_products_of_all_layouts(left, right):
    torch.manual_seed(0)
    for m, n, k in SIZES:
        a, b = operand(m, k, left), operand(k, n, right)
        close(a @ b, a.double() @ b.double(), k)
        close((b.t() @ a.t()).t(), a.double() @ b.double(), k)


def test_bfloat16_products_with_bias_and_scale():
    torch.manual_seed(0)
    for m, n, k in SIZES:
        a, w = operand(m, k, "dense"), operand(n, k, "dense")
        bias, c = operand(1, n, "dense")[0], operand(m, n, "dense")
        exact = torch.nn.functional.linear(a.double(), w.double(), bias.double())
        close(torch.nn.functional.linear(a, w, bias), exact, k)
        exact = 0.5 * c.double() - 2 * (a.double() @ w.double().t())
        close(torch.addmm(c, a, w.t(), beta=0.5, alpha=-2), exact, k)


def test_bfloat16_products_of_no_depth_are_zero():
    assert not torch.ones(60, 0).bfloat16().mm(torch.ones(0, 70).bfloat16()).any()
    assert not torch.ones(4, 0).bfloat16().mm(torch.ones(0, 3).bfloat16()).any()


def test_bfloat16_products_do_not_depend_on_threads():
    a, b = torch.randn(150, 301).bfloat16(), torch.randn(301, 170).bfloat16()
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(a @ b)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


DOT_PRODUCTS = """
import itertools
import rushlight as torch
torch.manual_seed(0)
rows, columns, depths = (1, 2, 3, 4, 5, 6, 7, 8, 13, 65, 130), (1, 3, 4, 9, 70), (1, 7, 16, 33, 300)
for dtype, (m, n, k) in itertools.product(
        (torch.float32, torch.float64), itertools.product(rows, columns, depths)):
    a, w = torch.randn(m, k + 2, dtype=dtype)[:, :k], torch.randn(n, k, dtype=dtype)
    bias, c = torch.randn(n, dtype=dtype), torch.randn(m, n, dtype=dtype)
    exact = (a.double().unsqueeze(1) * w.double()).sum(2)
    gaps = torch.empty(m, 2 * n, dtype=dtype)[:, ::2]
    torch.mm(a, w.t(), out=gaps)
    for result, expected in (
            (torch.nn.functional.linear(a, w, bias), exact + bias.double()),
            (torch.addmm(c, a, w.t(), beta=0.5, alpha=-2), 0.5 * c.double() - 2 * exact),
            (gaps, exact), ((w @ a.t()).t(), exact)):
        error = (result.double() - expected).abs().max() / k**0.5
        assert error < (1e-5 if dtype == torch.float32 else 1e-13), (dtype, m, n, k, error)
"""


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_rows_by_rows(level):
    """Operands dense along the common dimension, few and many rows, at each vector level."""
    environment = {**os.environ, "RUSHLIGHT_CPU": level}
    subprocess.run([sys.executable, "-P", "-c", DOT_PRODUCTS], env=environment, check=True)


def test_bfloat16_products_without_bfloat16_instructions():
    code = ("import rushlight as torch; torch.manual_seed(0);"
            "a = torch.randn(30, 70).bfloat16(); b = torch.randn(70, 50).bfloat16();"
            "exact = a.double() @ b.double();"
            "assert float((a @ b - exact).abs().max()) < 0.1")
    for level in ("baseline", "avx2"):
        environment = {**os.environ, "RUSHLIGHT_CPU": level}
        subprocess.run([sys.executable, "-P", "-c", code], env=environment, check=True)


@pytest.mark.parametrize("stride, padding, dilation, groups, channels", [
    (1, 1, 1, 1, (3, 5)), (2, 0, 1, 1, (17, 12)), (1, 1, 2, 2, (26, 30)), (1, 0, 1, 1, (150, 14))])
def test_bfloat16_convolutions(stride, padding, dilation, groups, channels):
    torch.manual_seed(0)
    x = torch.randn(3, channels[0], 11, 9).bfloat16().requires_grad_()
    w = torch.randn(channels[1], channels[0] // groups, 3, 2).bfloat16().requires_grad_()
    b = torch.randn(channels[1]).bfloat16()
    settings = (stride, padding, dilation, groups)
    y = torch.nn.functional.conv2d(x, w, b, *settings)
    xd, wd = x.detach().double().requires_grad_(), w.detach().double().requires_grad_()
    exact = torch.nn.functional.conv2d(xd, wd, b.double(), *settings)
    close(y.detach(), exact.detach(), w[0].numel())
    grad = torch.randn(y.shape).bfloat16()
    y.backward(grad)
    exact.backward(grad.double())
    close(x.grad, xd.grad, w[:, 0].numel())
    close(w.grad, wd.grad, y[:, 0].numel())


def by_cells(x, h, c, w_ih, w_hh, b_ih, b_hh):
    outputs = []
    for row in x:
        h, c = torch.lstm_cell(row, (h, c), w_ih, w_hh, b_ih, b_hh)
        outputs.append(h)
    return torch.stack(outputs), h, c


@pytest.mark.parametrize("batch", [1, 3, 20])
def test_lstm_layer_is_its_cells(batch):
    torch.manual_seed(0)
    layer = torch.nn.LSTM(7, 37)
    x = torch.randn(5, batch, 7, requires_grad=True)
    h, c = torch.randn(1, batch, 37), torch.randn(1, batch, 37)
    inputs = [x, *layer.parameters()]
    y, (hn, cn) = layer(x, (h, c))
    made = torch.autograd.grad((y.sin().sum() + hn.sum() + cn.cos().sum()), inputs)
    y2, hn2, cn2 = by_cells(x, h[0], c[0], *layer.parameters())
    expected = torch.autograd.grad((y2.sin().sum() + hn2.sum() + cn2.cos().sum()), inputs)
    torch.testing.assert_close(y, y2)
    torch.testing.assert_close(cn[0], cn2)
    for a, b in zip(made, expected, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("both_ways", [False, True])
def test_lstm_layers_have_second_gradients(both_ways):
    torch.manual_seed(0)
    ways = 2 if both_ways else 1
    layers = torch.nn.LSTM(2, 2, 2, bidirectional=both_ways).double()
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    h = torch.randn(2 * ways, 2, 2, dtype=torch.float64, requires_grad=True)
    c = torch.randn(2 * ways, 2, 2, dtype=torch.float64, requires_grad=True)

    def run(x, h, c, *weights):
        return torch.lstm(x, (h, c), list(weights), True, 2, 0.0, True, both_ways, False)

    inputs = (x, h, c, *layers.parameters())
    assert gradcheck(run, inputs)
    assert gradgradcheck(run, inputs)


def composed(q, k, v, mask, causal):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -torch.inf)
    elif mask is not None:
        scores = scores + mask
    nothing = scores.isneginf().all(-1, keepdim=True)
    return torch.where(nothing, 0.0, torch.softmax(scores, -1).nan_to_num()) @ v


@pytest.mark.parametrize("kind", ["plain", "causal", "bool", "float", "broadcast"])
@pytest.mark.parametrize("queries, keys", [(3, 5), (200, 130), (100, 1100), (700, 600)])
def test_attention_in_blocks(kind, queries, keys):
    torch.manual_seed(0)
    q = torch.randn(1, queries, 2, 9, dtype=torch.float64).transpose(1, 2).requires_grad_()
    k = torch.randn(1, 2, keys, 9, dtype=torch.float64, requires_grad=True)
    v = torch.randn(1, 2, keys, 9, dtype=torch.float64, requires_grad=True)
    mask = None
    if kind == "bool":
        mask = torch.rand(queries, keys) > 0.5
        mask[1] = False
    elif kind != "plain" and kind != "causal":
        size = (1, 2, queries, keys) if kind == "float" else (1, 1, 1, keys)
        mask = torch.randn(size, dtype=torch.float64)
    attend = torch.nn.functional.scaled_dot_product_attention
    made = attend(q, k, v, mask, is_causal=kind == "causal")
    expected = composed(q, k, v, mask, kind == "causal")
    torch.testing.assert_close(made, expected)
    weight = torch.randn_like(expected)
    gradients = torch.autograd.grad((made * weight).sum(), (q, k, v))
    torch.testing.assert_close(
        gradients, torch.autograd.grad((expected * weight).sum(), (q, k, v)))
