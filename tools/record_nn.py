"""Record what PyTorch's nn shows for the rows and programs of tests/nn, into a golden file.

Usage: python tools/record_nn.py (with an interpreter that has PyTorch).
"""

from __future__ import annotations

import json
import lzma
import sys
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "nn"))

import layers
import observe
import programs


def cpu_name():
    """The processor's name, which the golden file states."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def compact(value):
    """Floats with nine digits: all that a float32 has."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: compact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [compact(item) for item in value]
    return value


def main():
    """Evaluate everything and write the file."""
    warnings.simplefilter("ignore")
    golden = {"torch": torch.__version__, "cpu": cpu_name(), "layers": {}, "programs": {}}
    for layer, inputs in layers.rows():
        key = f"{layer} <- {', '.join(inputs)}"
        golden["layers"][key] = {
            "initial": observe.initial(torch, layer),
            "behaviour": observe.behaviour(torch, layer, inputs),
        }
    for name, program in programs.all_programs():
        golden["programs"][name] = observe.attempt(
            torch, lambda p=program: p(**observe.namespace(torch))
        )
    path = ROOT / "tests" / "golden" / "nn.json.xz"
    path.parent.mkdir(exist_ok=True)
    data = json.dumps(compact(golden), separators=(",", ":")).encode()
    path.write_bytes(lzma.compress(data, preset=9))
    print(f"{path}: {len(golden['layers'])} layers, {len(golden['programs'])} programs, "
          f"{path.stat().st_size} bytes")  # fmt: skip


if __name__ == "__main__":
    main()
