"""Records the graphs and signatures that PyTorch 2.13 exports for tests/export/models.py.

    python tools/record_export.py

Needs PyTorch. Writes tests/golden/export/export.json.xz.
"""

from __future__ import annotations

import json
import lzma
import sys
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "export"))


def main() -> None:
    """Writes the answers."""
    import models

    warnings.simplefilter("ignore")
    answers = {}
    for name, module, args, kwargs, shapes, _ in models.rows(torch):
        if kwargs and shapes is None:
            shapes = None
        program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes)
        answers[name] = models.described(program)
    path = ROOT / "tests" / "golden" / "export" / "export.json.xz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress(json.dumps(answers, indent=1).encode()))
    print(f"{len(answers)} programs, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
