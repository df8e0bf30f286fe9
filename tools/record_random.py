"""Records PyTorch's random streams for the programs of tests/random.

    python tools/record_random.py

Needs PyTorch 2.13 on a CPU that is not Intel's: there `bernoulli_` and dropout take another path.
"""

import json
import lzma
import sys
from pathlib import Path

import torch
import torch.utils.data

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "random"))

from random_programs import PROGRAMS, run


def processor() -> str:
    """The processor's name and the instruction set PyTorch chose."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")
    return f"{name}, {torch.backends.cpu.get_cpu_capability()}"


def main() -> None:
    """Writes tests/golden/random/streams.json.xz."""
    programs = {
        name: {"expressions": expressions, **run(torch, name)}
        for name, (_, expressions) in PROGRAMS.items()
    }
    stamp = {"torch": torch.__version__, "processor": processor()}
    target = ROOT / "tests" / "golden" / "random" / "streams.json.xz"
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"recorded": stamp, "programs": programs}, separators=(",", ":"))
    target.write_bytes(lzma.compress(text.encode(), preset=9))
    count = sum(len(p["expressions"]) for p in programs.values())
    print(f"{count} expressions, {target.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
