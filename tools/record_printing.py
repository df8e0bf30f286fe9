"""Records what PyTorch prints for the cases of tests/printing. Run where PyTorch is installed."""

import json
import lzma
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.printing import cases


def main():
    """Writes tests/golden/printing/printing.json.xz."""
    texts = {
        "torch": torch.__version__,
        "repr": {name: cases.text_of(torch, *case) for name, *case in cases.cases()},
        "format": cases.formatted(torch),
    }
    target = ROOT / "tests" / "golden" / "printing" / "printing.json.xz"
    target.write_bytes(lzma.compress(json.dumps(texts).encode()))
    print(len(texts["repr"]), "texts,", target.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
