"""Record what PyTorch shows for the programs of tests/autograd, into a golden file.

Usage: python tools/record_autograd.py (with an interpreter that has PyTorch).
"""

from __future__ import annotations

import json
import lzma
import sys
import warnings
from pathlib import Path

import torch
import torch.autograd.graph

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from autograd import programs


def main():
    """Run every program and write the file."""
    warnings.simplefilter("ignore")
    golden = {"torch": torch.__version__, "programs": {}}
    for name, program in programs.all_programs():
        show = programs.Show()
        program(torch, show)
        golden["programs"][name] = show.lines
    path = ROOT / "tests" / "golden" / "autograd.json.xz"
    data = json.dumps(golden, separators=(",", ":")).encode()
    path.write_bytes(lzma.compress(data, preset=9))
    print(f"{path}: {len(golden['programs'])} programs")


if __name__ == "__main__":
    main()
