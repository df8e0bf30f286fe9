"""Records the signatures of PyTorch 2.13's aten operators: their names, overloads and defaults.

    python tools/record_aten.py

Needs PyTorch. Writes rushlight/_aten_schemas.xz: a line per overload that takes or makes tensors
and, after an empty line, those with out=, with named dimensions, operators of gradients and those
of layouts and devices that Rushlight refuses. Those of TorchScript alone are left out.
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
    schemas = [s for s in torch._C._jit_get_all_schemas() if str(s).startswith("aten::")]
    lines = [str(s)[6:] for s in schemas if is_kept(s)]
    called = set(torch._C._dispatch_get_all_op_names())
    rest = [str(s)[6:] for s in schemas if not is_kept(s)]
    rest = [line for line in rest if f"aten::{line.partition('(')[0]}" in called]
    text = "\n\n".join(["\n".join(lines), "\n".join(rest)]).encode()
    TABLE.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    counts = f"{len(lines)} and {len(rest)} overloads, {len(text)} bytes"
    print(f"{counts}, {TABLE.stat().st_size} compressed")


if __name__ == "__main__":
    main()
