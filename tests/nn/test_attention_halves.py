"""Attention of halves: scores and sums in float, within a rounding or two of the exact result."""

import os
import subprocess
import sys

import pytest

ATTENTION = """
import rushlight as torch

attend = torch.nn.functional.scaled_dot_product_attention
torch.manual_seed(0)
SHAPES = [(1, 1, 1, 1, 1), (2, 3, 5, 7, 3), (1, 2, 97, 600, 33), (2, 4, 128, 128, 64),
          (1, 2, 200, 513, 17), (1, 2, 1, 1500, 64), (2, 2, 100, 1, 8)]
for dtype, unit in ((torch.bfloat16, 2**-8), (torch.float16, 2**-11)):
    for batch, heads, queries, keys, features in SHAPES:
        for kind in (None, "bool", "float", "half", "causal"):
            def operand(length):
                given = torch.randn(batch, length, heads, features).to(dtype).transpose(1, 2)
                return given.requires_grad_()
            q, k, v = operand(queries), operand(keys), operand(keys)
            wide = [t.detach().double().requires_grad_() for t in (q, k, v)]
            mask = None
            if kind == "bool":
                mask = torch.rand(queries, keys) > 0.3
                mask[0] = False
            elif kind in ("float", "half"):
                mask = torch.randn(batch, 1, queries, keys)
                mask = mask.to(dtype) if kind == "half" else mask
            exact = mask.double() if mask is not None and kind != "bool" else mask
            got = attend(q, k, v, mask, is_causal=kind == "causal")
            wanted = attend(*wide, exact, is_causal=kind == "causal")
            case = dtype, batch, heads, queries, keys, features, kind
            assert got.dtype == dtype and "Flash" in got.grad_fn.name(), case
            assert (got.double() - wanted).abs().max() <= 3 * unit, case
            grad = torch.randn(got.shape).to(dtype)
            made = torch.autograd.grad(got, (q, k, v), grad)
            true = torch.autograd.grad(wanted, wide, grad.double())
            for one, other in zip(made, true):
                off = (one.double() - other).abs().max()
                assert off <= 4 * unit * other.abs().max() + 1e-6, case
"""


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_halves_lose_only_what_their_own_rounding_takes(level):
    environment = {**os.environ, "RUSHLIGHT_CPU": level}
    subprocess.run([sys.executable, "-P", "-c", ATTENTION], env=environment, check=True)
