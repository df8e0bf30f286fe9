"""Records checkpoints that PyTorch writes, what it reads back, and what it says on refusal."""

import json
import pickle
import sys
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.serialization import contents

TARGET = ROOT / "tests" / "golden" / "serialization"


def refusal(path: Path) -> list[str]:
    """The exception's type and text for a file that weights_only refuses."""
    try:
        torch.load(path)
    except pickle.UnpicklingError as error:
        return [type(error).__name__, str(error)]
    raise AssertionError(f"{path} was not refused")


def location_error(location: str) -> list[str]:
    """What loading to an absent device says."""
    try:
        torch.load(TARGET / "every_dtype.pt", map_location=location)
    except Exception as error:
        return [type(error).__name__, str(error)]
    raise AssertionError(f"{location} was accepted")


def main():
    """Writes the files under tests/golden/serialization."""
    warnings.simplefilter("ignore")
    record = {"torch": torch.__version__, "described": {}, "refused": {}, "locations": {}}
    for name, make in contents.CONTENTS.items():
        value = make(torch)
        torch.save(value, TARGET / f"{name}.pt")
        torch.save(value, TARGET / f"{name}_legacy.pt", _use_new_zipfile_serialization=False)
        loaded = torch.load(TARGET / f"{name}.pt", weights_only=True)
        record["described"][name] = contents.described(torch, loaded)
    for name, make in contents.REFUSED.items():
        path = TARGET / f"refused_{name}.pt"
        torch.save(make(torch), path)
        record["refused"][name] = refusal(path)
    for location in ("cuda", "cuda:1", "mps", "nowhere"):
        record["locations"][location] = location_error(location)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    (TARGET / "record.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
