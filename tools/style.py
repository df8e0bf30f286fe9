"""What the C++ files keep to: lines of at most 100 columns, no tabs, no space at a line's end, one
line at the top that says what lives there.

    python tools/style.py       prints what does not and exits with 1
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 100


def faults(path: Path):
    """(line number, fault) of everything that is amiss in a file."""
    text = path.read_text(encoding="utf-8")
    if not text.startswith("//"):
        yield 1, "the first line does not say what lives here"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield text.count("\n"), "one newline ends a file"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS:
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
