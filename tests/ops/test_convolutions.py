"""Convolutions of many shapes against sums over taps, at each vector level and thread count."""

import os
import subprocess
import sys

import pytest

import rushlight as torch

SHAPES = """
import rushlight as torch
torch.manual_seed(0)

def by_taps(x, w, stride, padding, dilation, groups):
    n, _, height, width = x.shape
    out, per, kh, kw = w.shape
    x = torch.nn.functional.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    size = [(x.shape[2 + d] - dilation[d] * (w.shape[2 + d] - 1) - 1) // stride[d] + 1
            for d in (0, 1)]
    total = 0
    for i in range(kh):
        for j in range(kw):
            top, left = i * dilation[0], j * dilation[1]
            part = x[:, :, top:top + (size[0] - 1) * stride[0] + 1:stride[0],
                     left:left + (size[1] - 1) * stride[1] + 1:stride[1]]
            part = part.reshape(n, groups, per, *size)
            weight = w[:, :, i, j].reshape(groups, out // groups, per)
            total = total + torch.einsum("ngchw,goc->ngohw", part, weight)
    return total.reshape(n, out, *size)

def check(n, channels, out, size, kernel, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1,
          bad=None):
    x = torch.randn(n, channels, *size, dtype=torch.float64)
    w = torch.randn(out, channels // groups, *kernel, dtype=torch.float64)
    if bad is not None:
        x.view(-1)[x.numel() // 2] = bad
    bias = torch.randn(out, dtype=torch.float64)
    inputs = [t.requires_grad_() for t in (x, w)]
    expected = by_taps(x, w, stride, padding, dilation, groups) + bias.view(-1, 1, 1)
    g = torch.randn(expected.shape, dtype=torch.float64)
    g.view(-1)[::3] = 0
    expected = [expected, *torch.autograd.grad(expected, inputs, g)]
    for dtype, bound in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        a, b = (t.detach().to(dtype).requires_grad_() for t in (x, w))
        y = torch.nn.functional.conv2d(a, b, bias.to(dtype), stride, padding, dilation, groups)
        for result, right in zip([y, *torch.autograd.grad(y, (a, b), g.to(dtype))], expected):
            torch.testing.assert_close(
                result.double(), right, rtol=0, equal_nan=True,
                atol=bound * max(1, float(right.detach().nan_to_num(0, 0, 0).abs().max())))

for threads in (1, 3):
    torch.set_num_threads(threads)
    for channels, out in ((1, 6), (3, 16), (6, 5), (20, 13)):
        for size in ((28, 28), (14, 9), (5, 40), (3, 3), (1, 33)):
            for kernel, padding in (((3, 3), (1, 1)), ((5, 5), (2, 2)), ((2, 3), (1, 0)),
                                    ((1, 4), (0, 3))):
                if size[0] + 2 * padding[0] >= kernel[0]:
                    check(2, channels, out, size, kernel, padding=padding)
    check(5, 4, 8, (12, 11), (3, 3), (1, 1), (3, 4))
    check(3, 6, 9, (17, 19), (3, 2), (1, 1), (2, 2), (2, 3), 3)
    check(2, 3, 12, (40, 37), (7, 7), (2, 2), (3, 3))
    check(2, 5, 7, (23, 50), (3, 5), (2, 3), (1, 1), (1, 2))
    check(2, 8, 16, (20, 20), (4, 4), (3, 2), (1, 1))
    check(7, 16, 16, (8, 8), (3, 3), padding=(1, 1))
    check(1, 70, 9, (60, 60), (3, 3), padding=(1, 1))
    check(1, 2, 3, (20, 20), (17, 16))
    for padding in ((0, 0), (1, 1), (2, 3), (4, 1)):  # gradients of the input by phases
        check(2, 5, 60, (11, 14), (4, 4), (2, 2), padding)
        check(1, 4, 70, (13, 12), (5, 4), (2, 3), padding)
    check(2, 8, 120, (9, 16), (3, 3), (1, 2), (1, 1), groups=2)
    for bad in (float("inf"), float("nan")):
        check(3, 4, 6, (9, 7), (3, 3), padding=(1, 1), bad=bad)
"""


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_shapes(level):
    environment = {**os.environ, "RUSHLIGHT_CPU": level}
    subprocess.run([sys.executable, "-P", "-c", SHAPES], env=environment, check=True)


@pytest.mark.parametrize("stride", [(1, 1, 1), (3, 1, 2), (2, 3, 1)])
@pytest.mark.parametrize("groups", [1, 2])
def test_padding_around_a_flat_volume(stride, groups):
    """The padding before its only plane may be all that the kernel meets."""
    x = torch.randn(2, 12, 1, 9, 8, dtype=torch.float64, requires_grad=True)
    w = torch.randn(6, 12 // groups, 1, 3, 3, dtype=torch.float64, requires_grad=True)
    padded = torch.nn.functional.pad(x, (2, 2, 1, 1, 1, 1))
    expected = torch.conv3d(padded, w, None, stride, groups=groups)
    y = torch.conv3d(x, w, None, stride, (1, 1, 2), groups=groups)
    grad = torch.randn_like(y)
    torch.testing.assert_close(y, expected)
    for got, right in zip(
        torch.autograd.grad(y, (x, w), grad),
        torch.autograd.grad(expected, (x, w), grad),
        strict=True,
    ):
        torch.testing.assert_close(got, right)
