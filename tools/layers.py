"""Checks that includes go one way: base <- observe <- tensor <- autograd <- ops <- bind.

    python tools/layers.py

Kernels include base and kernels only; ops include kernels; autograd may include ops/ops.h.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "base": {"base"},
    "observe": {"base", "observe"},
    "kernels": {"base", "kernels"},
    "tensor": {"base", "observe", "tensor"},
    "autograd": {"base", "observe", "tensor", "autograd"},
    "ops": {"base", "observe", "tensor", "kernels", "autograd", "ops"},
    "bind": {"base", "observe", "tensor", "autograd", "ops", "bind"},
}
INCLUDE = re.compile(r'^#include "(([a-z]+)/[^"]+)"', re.MULTILINE)
PYTHON = re.compile(r"\bPyObject\b|#include <Python.h>")


def faults():
    for room, allowed in ALLOWED.items():
        folder = ROOT / ("bind" if room == "bind" else f"core/{room}")
        for path in sorted([*folder.rglob("*.h"), *folder.rglob("*.cpp")]):
            text = path.read_text()
            name = path.relative_to(ROOT)
            for header, layer in INCLUDE.findall(text):
                if layer not in allowed and not (room == "autograd" and header == "ops/ops.h"):
                    yield f"{name} includes {header}: {room} may not know {layer}"
            if room != "bind" and PYTHON.search(text):
                yield f"{name} speaks of Python: that belongs to bind"


def main():
    found = list(faults())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
