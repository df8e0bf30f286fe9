"""Record what PyTorch shows for the programs of tests/training, into golden files.

Usage: python tools/record_training.py [NAME ...] (with an interpreter that has PyTorch); a name is
that of a file of programs, and none means all.
"""

from __future__ import annotations

import importlib
import json
import lzma
import sys
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from training import run


def main():
    """Run the programs and write a file for each file of them."""
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or run.FILES:
        shown = run.all_shown(torch, importlib.import_module(f"training.{name}"))
        path = ROOT / "tests" / "golden" / "training" / f"{name}.json.xz"
        path.parent.mkdir(exist_ok=True)
        data = json.dumps({"torch": torch.__version__, "programs": shown}, separators=(",", ":"))
        path.write_bytes(lzma.compress(data.encode(), preset=9))
        print(f"{path.name}: {len(shown)} programs, {sum(map(len, shown.values()))} lines")


if __name__ == "__main__":
    main()
