"""Records what the programs of tests/libraries report on PyTorch into tests/golden/libraries.json.

    python tools/record_libraries.py [name ...]

Needs PyTorch 2.13 and the libraries. torchvision's operators in C++ are declared first where its
library cannot be loaded, as it fails to be imported otherwise.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "libraries" / "programs"
GOLDEN = ROOT / "tests" / "golden" / "libraries.json"
BEGIN = """
import os, runpy, sys, torch
operators = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
sys.path.insert(0, os.path.dirname(sys.argv[1]))
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def reported(program: pathlib.Path):
    """What a program prints on its last line."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN, str(program)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{program.name}\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main(names: list[str]) -> None:
    """Records the programs of ``names``, all by default."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    for program in sorted(PROGRAMS.glob("*_use.py")):
        name = program.name.removesuffix("_use.py")
        if not names or name in names:
            golden[name] = reported(program)
    text = json.dumps(golden, sort_keys=True, separators=(",", ":"))
    GOLDEN.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
