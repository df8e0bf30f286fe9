"""Max pooling over windows two wide, which has loops of its own, at each vector level."""

import os
import subprocess
import sys

import pytest

PAIRS = """
import rushlight as torch
torch.manual_seed(0)
for dtype in (torch.float32, torch.float64):
    for width in (2, 3, 7, 14, 15, 16, 31, 32, 33, 34, 66, 70):
        x = torch.randint(-2, 3, (2, 3, 7, width)).to(dtype)
        x[torch.rand(x.shape) < 0.1] = float("-inf")
        columns = width // 2
        windows = x[:, :, :6, : 2 * columns].reshape(2, 3, 3, 2, columns, 2)
        windows = windows.permute(0, 1, 2, 4, 3, 5).reshape(2, 3, 3, columns, 4)
        best = windows.amax(-1)
        first = (windows == best.unsqueeze(-1)).to(torch.uint8).argmax(-1)
        rows = 2 * torch.arange(3).view(3, 1) + first // 2
        places = rows * width + 2 * torch.arange(columns) + first % 2
        result, indices = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        assert torch.equal(result, best) and torch.equal(indices, places), (dtype, width)
        x[0, 0, 1, 1] = float("nan")
        result, indices = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        assert result[0, 0, 0, 0].isnan() and indices[0, 0, 0, 0] == width + 1
        assert torch.equal(result[1], best[1]) and torch.equal(indices[1], places[1])
"""


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_max_pooling_of_pairs(level):
    environment = {**os.environ, "RUSHLIGHT_CPU": level}
    subprocess.run([sys.executable, "-P", "-c", PAIRS], env=environment, check=True)
