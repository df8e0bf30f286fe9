"""Packs the direction numbers of Sobol sequences that S. Joe and F. Y. Kuo published.

    python tools/pack_sobol.py new-joe-kuo-6.21201 [target]

Writes rushlight/_sobol_directions.xz, which rushlight/quasirandom.py reads, or another target.
Each line of their file is a dimension, from the second on: its number, the degree s of the
primitive polynomial, the polynomial's inner coefficients as bits, and s direction numbers. Of the
polynomials, differences are kept, in two bytes each; of the k-th direction number (odd, less than
2**(k + 1)) the k upper bits, one number after the other.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "rushlight" / "_sobol_directions.xz"


def packed(text: str) -> bytes:
    """What is compressed: the polynomials' differences, then the bits of all direction numbers."""
    differences, last = bytearray(), 0
    bits = []
    for line in text.splitlines()[1:]:
        _, degree, inner, *numbers = map(int, line.split())
        polynomial = 1 << degree | inner << 1 | 1
        differences += (polynomial - last).to_bytes(2, "little")
        last = polynomial
        for k, number in enumerate(numbers):
            bits += [number >> (j + 1) & 1 for j in range(k)]
    bits += [0] * (-len(bits) % 8)
    whole = int("".join(map(str, reversed(bits))), 2)
    return bytes(differences) + whole.to_bytes(len(bits) // 8, "little")


def main() -> None:
    """Packs the file that the command line names."""
    source, *target = map(Path, sys.argv[1:])
    target = target[0] if target else TARGET
    data = packed(source.read_text())
    target.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(data)} bytes, {target.stat().st_size} compressed")


if __name__ == "__main__":
    main()
