"""Records what PyTorch does with element types in which few ops compute: floats of a byte, unsigned
integers of more than one. Writes tests/golden/ops/stored_dtypes.json.xz.

Needs PyTorch 2.13 with numpy.
"""

from __future__ import annotations

import os
import pathlib
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
os.environ["RUSHLIGHT_TEST_MODULE"] = "torch"

import torch
from ops import ROWS, golden, stored_dtypes


def main():
    """Records all experiments."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = {e.__name__: dict(e(torch)) for e in stored_dtypes.PLAIN}
    found["rows"] = {}
    for row in ROWS:
        outcomes = {key: outcome for key, _, outcome in stored_dtypes.rows(torch, row)}
        if outcomes:
            calls = golden.call_texts(row)
            found["rows"][f"{row.family}:{row.name}"] = {"calls": calls, "outcomes": outcomes}
    print(golden.save("stored_dtypes", found), "bytes")


if __name__ == "__main__":
    main()
