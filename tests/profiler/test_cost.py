"""FLOPs by the records' cost models, against the textbook's formulas."""

import pytest

import rushlight as torch
from rushlight import _C, nn
from rushlight.profiler import profile

F = nn.functional


def flops(call):
    """(of the forward ops, of the backward ops)"""
    recorder = _C.Recorder(tensors=True, nodes=True)
    recorder.start()
    out = call()
    forward = recorder.count
    if isinstance(out, torch.Tensor) and out.requires_grad:
        out.backward(torch.ones_like(out))
    recorder.stop()
    events = recorder.events()
    return sum(e[12] for e in events[:forward]), sum(e[12] for e in events[forward:])


def ones(*size):
    return torch.ones(*size, requires_grad=True)


PRODUCTS = {
    "mm": (lambda: torch.mm(ones(3, 5), ones(5, 7)), 2 * 3 * 5 * 7),
    "matmul": (lambda: ones(2, 3, 5) @ ones(2, 5, 7), 2 * 2 * 3 * 5 * 7),
    "bmm": (lambda: torch.bmm(ones(2, 3, 5), ones(2, 5, 7)), 2 * 2 * 3 * 5 * 7),
    "mv": (lambda: torch.mv(torch.ones(3, 5), torch.ones(5)), 2 * 3 * 5),
    "dot": (lambda: torch.dot(torch.ones(5), torch.ones(5)), 2 * 5),
    "addmm": (lambda: torch.addmm(ones(7), ones(3, 5), ones(5, 7)), 2 * 3 * 5 * 7),
    "addmv": (lambda: torch.addmv(torch.ones(3), torch.ones(3, 5), torch.ones(5)), 2 * 3 * 5),
    "baddbmm": (
        lambda: torch.baddbmm(ones(2, 3, 7), ones(2, 3, 5), ones(2, 5, 7)),
        2 * 2 * 3 * 5 * 7,
    ),
    "addbmm": (
        lambda: torch.addbmm(torch.ones(3, 7), torch.ones(2, 3, 5), torch.ones(2, 5, 7)),
        2 * 2 * 3 * 5 * 7,
    ),
    "linear": (lambda: F.linear(ones(4, 3, 5), ones(7, 5)), 2 * 12 * 5 * 7),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    call, expected = PRODUCTS[name]
    forward, backward = flops(call)
    assert forward == expected
    assert backward in (0, 2 * expected), "two products of the same size"


def test_linear_with_bias():
    assert flops(lambda: F.linear(ones(4, 5), ones(7, 5), ones(7))) == (
        2 * 4 * 5 * 7,
        2 * 2 * 4 * 5 * 7 + 4 * 7,
    )


@pytest.mark.parametrize("groups", [1, 2])
def test_convolution(groups):
    x, w = ones(2, 4, 8, 9), ones(6, 4 // groups, 3, 2)
    out = F.conv2d(x, w, padding=1, groups=groups)
    product = 2 * out.numel() * (4 // groups) * 3 * 2
    assert flops(lambda: F.conv2d(x, w, padding=1, groups=groups)) == (product, 2 * product)


def test_transposed_convolution():
    x, w = ones(2, 4, 5), ones(4, 6, 3)
    assert flops(lambda: F.conv_transpose1d(x, w, stride=2)) == (
        2 * x.numel() * 6 * 3,
        2 * 2 * x.numel() * 6 * 3,
    )


def test_attention():
    batch, heads, queries, keys, width = 2, 3, 4, 5, 8
    q, k, v = (ones(batch, heads, n, width) for n in (queries, keys, keys))
    product = 2 * batch * heads * queries * keys * width
    assert flops(lambda: F.scaled_dot_product_attention(q, k, v)) == (2 * product, 5 * product)


def test_lstm():
    steps, batch, inputs, hidden = 3, 2, 5, 7
    lstm = nn.LSTM(inputs, hidden)
    with torch.no_grad():
        forward, _ = flops(lambda: lstm(torch.ones(steps, batch, inputs))[0])
    assert forward == steps * batch * 2 * 4 * hidden * (inputs + hidden)


def test_norms():
    x = torch.ones(4, 6, 5)
    n = x.numel()
    w, b = torch.ones(5), torch.ones(5)
    assert flops(lambda: F.layer_norm(x, (5,), w, b))[0] == 8 * n
    assert flops(lambda: F.layer_norm(x, (5,)))[0] == 6 * n
    mean, var = torch.zeros(6), torch.ones(6)
    assert flops(lambda: F.batch_norm(x, mean, var))[0] == 2 * n
    assert flops(lambda: F.batch_norm(x, None, None, training=True))[0] == 6 * n
    assert flops(lambda: F.group_norm(x, 2))[0] == 6 * n
    assert flops(lambda: F.rms_norm(x, (5,), w))[0] == 4 * n


def test_least_bytes_of_element_wise_ops_and_moves():
    a = torch.ones(100)
    with profile(with_flops=True) as p:
        torch.sin(a)
        a + a
        a.t()
        a.reshape(10, 10).t().contiguous()
    found = {}
    for e in p.events():
        found.setdefault(e.name, e.bytes)
    assert found["aten::sin"] == 800 and found["aten::t"] == 0
    assert found["aten::add"] == 800, "an operand that comes twice is read once"
    assert next(e.flops for e in p.events() if e.name == "aten::add") == 100


def test_table_shows_flops():
    with profile(with_flops=True) as p:
        torch.ones(100, 100) @ torch.ones(100, 100)
    text = p.key_averages().table()
    assert "Total MFLOPs" in text and " 2.000  " in text and "--" in text
