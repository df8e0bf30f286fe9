"""Records what PyTorch's data loading gives for the cases of tests/data."""

import json
import sys
import warnings
from pathlib import Path

import torch
import torch.utils.data

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.data import cases


def main():
    """Writes tests/golden/data/loading.json."""
    warnings.simplefilter("ignore")
    record = {"torch": torch.__version__}
    record.update((name, case(torch)) for name, case in cases.CASES.items())
    target = ROOT / "tests" / "golden" / "data" / "loading.json"
    target.write_text(json.dumps(record, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
