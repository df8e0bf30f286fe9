"""What the C++ files keep to: lines of at most 100 columns, no tabs, no space at a line's end, one
line at the top that says what lives there.

    python tools/style.py       prints what does not and exits with 1
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 100
# Files with lines that are longer: the list may only shrink, and each of them must need it.
LATER = frozenset(
    """
    bind/construct.cpp
    bind/methods.cpp
    bind/origin.cpp
    bind/overrides.cpp
    bind/properties.cpp
    bind/runtime.cpp
    bind/tensor.cpp
    bind/types.cpp
    core/autograd/inplace.cpp
    core/autograd/meta.h
    core/autograd/node.h
    core/base/dtype.h
    core/kernels/embedding.h
    core/kernels/random.h
    core/kernels/rrelu.h
    core/ops/copying.cpp
    core/ops/counting.cpp
    core/ops/indexing.cpp
    core/ops/joining.cpp
    core/ops/layer_norm.cpp
    core/ops/linear.cpp
    core/ops/matmul.cpp
    core/ops/moves.cpp
    core/ops/norms.cpp
    core/ops/part_scatter.cpp
    core/ops/random.cpp
    core/ops/ranges.cpp
    core/ops/sampling.cpp
    core/ops/scatter.cpp
    core/ops/view_copies.cpp
    core/ops/views.cpp
    core/tensor/tensor.cpp
    """.split()
)


def faults(path: Path):
    """(line number, fault) of everything that is amiss in a file."""
    text = path.read_text(encoding="utf-8")
    if not text.startswith("//"):
        yield 1, "the first line does not say what lives here"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield text.count("\n"), "one newline ends a file"
    later = str(path.relative_to(ROOT)) in LATER
    if later and all(len(line) <= COLUMNS for line in text.split("\n")):
        yield 1, "no line is too long: take the file off the list in tools/style.py"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS and not later:
            yield number, f"{len(line)} columns"
        if "\t" in line:
            yield number, "a tab"
        if line != line.rstrip():
            yield number, "space at the end"


def main() -> int:
    files = [p for folder in ("core", "bind") for p in sorted((ROOT / folder).rglob("*.[ch]*"))]
    found = [f"{p.relative_to(ROOT)}:{n}: {fault}" for p in files for n, fault in faults(p)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
