"""Records what PyTorch's optimizers and schedules do. Run where PyTorch is installed."""

import json
import lzma
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.optim import programs


def main():
    """Writes tests/golden/optim/optim.json.xz."""
    target = ROOT / "tests" / "golden" / "optim" / "optim.json.xz"
    target.write_bytes(lzma.compress(json.dumps(programs.everything(torch)).encode()))
    print(target.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
