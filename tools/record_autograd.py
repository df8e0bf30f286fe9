"""Record what PyTorch shows for the programs of tests/autograd and tests/func, into golden files.

Usage: python tools/record_autograd.py [autograd] [func] (with an interpreter that has PyTorch).
"""

from __future__ import annotations

import importlib
import json
import lzma
import sys
import warnings
from pathlib import Path

import torch
import torch.autograd.graph

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))


def record(folder: str) -> None:
    """Run every program of a folder and write its file."""
    programs = importlib.import_module(f"{folder}.programs")
    golden = {"torch": torch.__version__, "programs": {}}
    for name, program in programs.all_programs():
        show = programs.Show()
        program(torch, show)
        golden["programs"][name] = show.lines
    path = ROOT / "tests" / "golden" / f"{folder}.json.xz"
    data = json.dumps(golden, separators=(",", ":")).encode()
    path.write_bytes(lzma.compress(data, preset=9))
    print(f"{path}: {len(golden['programs'])} programs")


def main():
    """Record the folders that are named, or both."""
    warnings.simplefilter("ignore")
    for folder in sys.argv[1:] or ("autograd", "func"):
        record(folder)


if __name__ == "__main__":
    main()
