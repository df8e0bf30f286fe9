"""The recorded answers, and how results are compared with them."""

import json
import lzma
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

GOLDEN = Path(__file__).parent.parent / "golden" / "nn.json.xz"


@pytest.fixture(scope="session")
def golden():
    return json.loads(lzma.decompress(GOLDEN.read_bytes()))


def _differences(seen, wanted, where):
    if isinstance(wanted, float) or isinstance(seen, float):
        numbers = all(isinstance(v, (int, float)) for v in (seen, wanted))
        # float32 results of another order of summation.
        if numbers and (
            seen == wanted
            or (seen != seen and wanted != wanted)
            or abs(seen - wanted) <= 1e-6 + 1e-5 * abs(wanted)
        ):
            return
    elif isinstance(wanted, dict) and isinstance(seen, dict) and seen.keys() == wanted.keys():
        for key in wanted:
            yield from _differences(seen[key], wanted[key], f"{where}.{key}")
        return
    elif isinstance(wanted, list) and isinstance(seen, list) and len(seen) == len(wanted):
        for index, item in enumerate(wanted):
            yield from _differences(seen[index], item, f"{where}[{index}]")
        return
    elif type(seen) is type(wanted) and seen == wanted:
        return
    yield f"{where or 'result'}: got {seen!r}, PyTorch gives {wanted!r}"


@pytest.fixture
def agree():
    def check(seen, wanted):
        seen = json.loads(json.dumps(seen))
        differences = list(_differences(seen, wanted, ""))
        assert not differences, "\n".join(differences[:8])

    return check
