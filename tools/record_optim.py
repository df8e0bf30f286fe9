"""Records what PyTorch's optimizers and schedules do. Run where PyTorch is installed.

    python tools/record_optim.py --own     writes the states of Rushlight's optimizers, where that
                                           is installed; then, with PyTorch, all else
"""

import json
import lzma
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.optim import programs, states


def main():
    if "--own" in sys.argv:
        import rushlight

        rushlight.save(states.made(rushlight), states.OURS)
    else:
        record()


def record():
    """Writes tests/golden/optim/optim.json.xz and states_pytorch.pt."""
    import torch

    target = ROOT / "tests" / "golden" / "optim" / "optim.json.xz"
    target.write_bytes(lzma.compress(json.dumps(programs.everything(torch)).encode()))
    print(target.stat().st_size, "bytes")
    own = states.made(torch)
    recorded = {
        "states": own,
        "after": states.continued(torch, own),
        "after_rushlight": states.continued(torch, torch.load(states.OURS)),
    }
    torch.save(recorded, states.THEIRS)
    print(states.THEIRS.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
