"""Whole numbers at each vector level against numpy."""

import os
import subprocess
import sys

import pytest

POINTWISE = """
import numpy as np
import rushlight as torch

random = np.random.default_rng(0)
pairs = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "bitwise_and": np.bitwise_and, "bitwise_xor": np.bitwise_xor,
    "eq": np.equal, "lt": np.less, "ge": np.greater_equal, "logical_or": np.logical_or,
}
singles = {"neg": np.negative, "abs": np.abs, "square": np.square, "sign": np.sign,
           "bitwise_not": np.bitwise_not, "logical_not": np.logical_not}
def same(result, expected, note):
    assert result.numpy().dtype == expected.dtype and (result.numpy() == expected).all(), note
np.seterr(all="ignore")
for kind in ("int8", "uint8", "int16", "int32", "int64"):
    limits = np.iinfo(kind)
    x, y = (random.integers(limits.min, limits.max, 300, endpoint=True).astype(kind)
            for _ in range(2))
    y[::3] = x[::3]
    for n in (0, 1, 7, 8, 9, 31, 33, 64, 130):
        for part in (slice(0, n), slice(1, n + 1), slice(0, 2 * n, 2)):
            a, b = torch.from_numpy(x.copy())[part], torch.from_numpy(y.copy())[part]
            for name, reference in pairs.items():
                op = getattr(torch, name)
                note = (kind, name, n, part)
                same(op(a, b), reference(x[part], y[part]), note)
                if n == 0:
                    continue
                same(op(a, b[:1]), reference(x[part], y[part][:1]), note)
                same(op(b[:1], a), reference(y[part][:1], x[part]), note)
                if name in ("add", "mul", "bitwise_xor"):
                    place = a.clone()
                    getattr(place, name + "_")(b)
                    same(place, reference(x[part], y[part]), note)
            for name, reference in singles.items():
                same(getattr(torch, name)(a), reference(x[part]), (kind, name, n, part))
            low, high = (-3, 50) if kind[0] == "i" else (3, 50)
            same(a.clamp(low, high), x[part].clip(low, high), (kind, n, part))
            same(a << 1, x[part] << np.array(1, kind), (kind, n, part))
"""

PRODUCTS = """
import itertools
import numpy as np
import rushlight as torch

random = np.random.default_rng(1)
sizes = itertools.product((0, 1, 2, 5, 6, 8, 13, 97, 200), (0, 1, 5, 33), (1, 3, 16, 17, 32, 65))
kinds = ("int8", "uint8", "int16", "int32", "int64")
np.seterr(all="ignore")
for kind, (m, k, n) in itertools.product(kinds, sizes):
    limits = np.iinfo(kind)
    x, y = (random.integers(limits.min, limits.max, size, endpoint=True).astype(kind)
            for size in ((m, k), (k, n)))
    expected = x @ y
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    for left, right in ((a, b), (a.t().contiguous().t(), b), (a, b.t().contiguous().t()),
                        (torch.cat((a, a), 1)[:, :k], torch.cat((b, b), 1)[:, n:])):
        assert ((left @ right).numpy() == expected).all(), (kind, m, k, n)
    c = torch.ones(m, n, dtype=a.dtype)
    assert (torch.addmm(c, a, b, beta=3, alpha=2).numpy() == expected * 2 + 3).all()
"""

@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize("program", [POINTWISE, PRODUCTS], ids=["pointwise", "products"])
def test_at_each_level(program, level):
    environment = {**os.environ, "RUSHLIGHT_CPU": level}
    subprocess.run([sys.executable, "-P", "-c", program], env=environment, check=True)
