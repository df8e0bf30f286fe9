"""Conversions between floating types, bit by bit, at each vector level."""

import os
import subprocess
import sys

import pytest

CASTS = """
import numpy as np
import rushlight as torch

draw = np.random.default_rng(0)
edges = [0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 1, 0x7FFF, 0x8000, 0x8001, 0x18000,
         0x7F7FFFFF, 0x7F7F8000, 0x33000000, 0x33000001, 0x47800000, 0x477FF000, 0x38800000]
edges = np.array(edges, dtype=np.uint32)
bits = draw.integers(0, 2**32, 9000, dtype=np.uint32)
bits = np.concatenate([edges, edges | np.uint32(1 << 31), bits])
given = torch.from_numpy(bits.view(np.float32))
doubles = draw.normal(size=9000) * 2.0 ** draw.normal(scale=60, size=9000)
doubles = np.concatenate([doubles, bits.view(np.float32).astype(np.float64)])


def rounded(bits):
    wide = bits.astype(np.uint64)
    up = (wide + 0x7FFF + (wide >> 16 & 1)) >> 16
    return np.where(np.isnan(bits.view(np.float32)), 0x7FC0, up).astype(np.uint16)


def same(tensor, wanted):
    got = tensor.clone().numpy() if tensor.dtype != torch.bfloat16 else None
    if got is None:
        return np.array_equal(tensor.clone().view(torch.int16).numpy().view(np.uint16), wanted)
    nan = np.isnan(wanted)
    return np.array_equal(np.isnan(got), nan) and np.array_equal(got[~nan], wanted[~nan])


np.seterr(all="ignore")
for n in [*range(70), 1000, len(bits)]:
    for part in (slice(0, n), slice(1, n + 1), slice(0, 2 * n, 2)):
        f, raw = given[part], np.ascontiguousarray(bits[part])
        values = raw.view(np.float32)
        assert same(f.bfloat16(), rounded(raw)), (n, part)
        assert same(f.bfloat16().float(), (rounded(raw).astype(np.uint32) << 16).view(np.float32))
        assert same(f.half(), values.astype(np.float16)), (n, part)
        assert same(f.half().float(), values.astype(np.float16).astype(np.float32)), (n, part)
        assert same(f.double(), values.astype(np.float64)), (n, part)
        some = doubles[part]
        assert same(torch.from_numpy(doubles)[part].float(), some.astype(np.float32)), (n, part)
"""


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_conversions_of_all_lengths_and_strides(level):
    environment = {**os.environ, "RUSHLIGHT_CPU": level}
    subprocess.run([sys.executable, "-P", "-c", CASTS], env=environment, check=True)
