"""Records the signatures of PyTorch 2.13's aten operators: their names, overloads and defaults.

    python tools/record_aten.py

Needs PyTorch. Writes rushlight/_aten_schemas.xz: a line per overload that takes or makes tensors.
Left out are the forms with out=, named dimensions, operators of gradients and those of layouts and
devices that Rushlight refuses.
"""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import torch

TABLE = Path(__file__).resolve().parent.parent / "rushlight" / "_aten_schemas.xz"
LEFT_OUT = re.compile(
    r"backward|sparse|quant|mkldnn|miopen|cudnn|_foreach|_fused|hacked_twin|prim_|mps|_nested|jagged"
    r"|_cslt|_cuda|_test_|_cufft|nnpack|fbgemm|xnnpack|_thnn|flash|_efficient|_amp_|_jvp"
)


def is_kept(schema) -> bool:
    """Whether the table has this overload."""
    text = str(schema)
    if not text.startswith("aten::") or "Tensor" not in text or "Dimname" in text:
        return False
    if LEFT_OUT.search(text.partition("(")[0]) or " t[]" in text or "t item" in text:
        return False
    return not any(a.is_out for a in schema.arguments)


def main() -> None:
    """Writes the table."""
    lines = [str(s)[6:] for s in torch._C._jit_get_all_schemas() if is_kept(s)]
    text = "\n".join(lines).encode()
    TABLE.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(lines)} overloads, {len(text)} bytes, {TABLE.stat().st_size} compressed")


if __name__ == "__main__":
    main()
