"""Records what PyTorch's torch.fx gives for the programs of tests/fx.

    python tools/record_fx.py

Needs PyTorch 2.13. Writes tests/golden/fx.json.xz.
"""

from __future__ import annotations

import json
import lzma
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["RUSHLIGHT_TEST_MODULE"] = "torch"

from tests.fx import programs

target = ROOT / "tests" / "golden" / "fx.json.xz"
target.write_bytes(lzma.compress(json.dumps(programs.everything()).encode()))
print(target.stat().st_size, "bytes")
