"""Sobol sequences: points that fill the unit cube more evenly than random ones.

The sequence is that of Sobol (1967) in the order of Antonov and Saleev (1979), with the direction
numbers of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional
projections", SIAM J. Sci. Comput. 30 (2008); their file and its licence are described in
`_sobol_directions.license.txt`. Scrambled points use a random lower triangular matrix of bits per
dimension and a shift (Matousek 1998).
"""

from __future__ import annotations

import functools
import lzma
from pathlib import Path

import rushlight as torch

BITS = 30


@functools.cache
def _numbers() -> tuple[list, list]:
    """Primitive polynomials as bit masks, and the first direction numbers of each dimension.

    The file holds differences of the polynomials in two bytes each, then, one after the other, the
    bits of all numbers: of the k-th of a dimension (odd, less than 2**(k + 1)) the k upper ones.
    """
    data = lzma.decompress(Path(__file__).with_name("_sobol_directions.xz").read_bytes())
    count = SobolEngine.MAXDIM - 1
    polynomials, last = [], 0
    for k in range(count):
        last += int.from_bytes(data[2 * k : 2 * k + 2], "little")
        polynomials.append(last)
    return polynomials, data[2 * count :]


def _directions(dimension: int) -> list[list[int]]:
    """Direction numbers, one row of `BITS` for each dimension; column k has bit k at its top."""
    polynomials, data = _numbers()
    rows = [[1] * BITS]
    place = 0
    for polynomial in polynomials[: dimension - 1]:
        degree = polynomial.bit_length() - 1
        length = degree * (degree - 1) // 2
        first, shift = place // 8, place % 8
        end = (place + length + 7) // 8
        bits = int.from_bytes(data[first:end], "little") >> shift
        place += length
        row = []
        for k in range(degree):
            row.append((bits & ((1 << k) - 1)) << 1 | 1)
            bits >>= k
        for k in range(degree, BITS):
            value = row[k - degree] ^ row[k - degree] << degree
            for j in range(1, degree):
                if polynomial >> (degree - j) & 1:
                    value ^= row[k - j] << j
            row.append(value)
        rows.append(row)
    return [[value << (BITS - 1 - k) for k, value in enumerate(row)] for row in rows]


class SobolEngine:
    """Draws points of a (scrambled) Sobol sequence.

    Args:
        dimension: of the points, up to 21201.
        scramble: whether to scramble the sequence at random.
        seed: of the scrambling; the global random stream by default.

    Attributes:
        num_generated: how many points were drawn or passed over.
    """

    MAXBIT = BITS
    MAXDIM = 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                "Supported range of dimensionality for SobolEngine is "
                f"[1, {self.MAXDIM}]"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = torch.tensor(_directions(dimension), dtype=torch.int64)
        self.shift = torch.zeros(dimension, dtype=torch.int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def _scramble(self):
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        weights = 2 ** torch.arange(BITS)
        shift = torch.randint(2, (self.dimension, BITS), generator=generator)
        self.shift = (shift * weights).sum(1)
        rows = torch.randint(2, (self.dimension, BITS, BITS), generator=generator).tril()
        # Row i of a matrix, bits of the highest place first, gives bit i of the product.
        rows = rows.where(torch.eye(BITS, dtype=torch.bool).logical_not(), 1)
        bits = (self.sobolstate.unsqueeze(1) >> torch.arange(BITS - 1, -1, -1).view(-1, 1)) & 1
        made = (rows.double() @ bits.double()).long() & 1  # (dimension, place, number)
        self.sobolstate = (made * weights.flip(0).view(-1, 1)).sum(1)

    def _points(self, start: int, n: int):
        """Points ``start`` to ``start + n`` as whole numbers (n, dimension).

        Point i is the shift and the direction numbers of the bits in i's Gray code. Within a block
        of 2**b numbers only the lower b bits of the code vary, and each half of a block mirrors
        the other, so a table is doubled b times.
        """
        b = max(n - 1, 0).bit_length()
        columns = self.sobolstate.t()
        table = torch.zeros(1, self.dimension, dtype=torch.int64)
        for k in range(b):
            table = torch.cat([table, table.flip(0) ^ columns[k]])
        parts, place = [], start
        while place < start + n:
            block, low = place >> b, place & ((1 << b) - 1)
            high = min(1 << b, low + start + n - place)
            code = block ^ block >> 1
            fixed = self.shift
            if block & 1 and b:
                fixed = fixed ^ columns[b - 1]
            for k in range(code.bit_length()):
                if code >> k & 1:
                    fixed = fixed ^ columns[b + k]
            parts.append(table[low:high] ^ fixed)
            place += high - low
        return torch.cat(parts) if parts else table[:0]

    def draw(self, n=1, out=None, dtype=None):
        """The next ``n`` points, (n, dimension), in [0, 1)."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if not isinstance(n, int):
            raise TypeError(
                "_sobol_engine_draw(): argument 'n' (position 2) must be int, not "
                f"{type(n).__name__}"
            )
        fresh = n - (not self.num_generated)  # the first point is at hand when the engine is made
        if fresh < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {fresh}: "
                f"[{fresh}, {self.dimension}]"
            )
        points = self._points(self.num_generated, n)
        if n:
            self.quasi = points[-1].clone()
        self.num_generated += n
        result = points.to(dtype) * 2.0**-BITS
        if out is not None:
            return out.resize_as_(result).copy_(result)
        return result

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2**m points; only where their number with those before is a power of 2."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self):
        """Back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Passes over ``n`` points."""
        self.num_generated += n
        if self.num_generated:
            self.quasi = self._points(self.num_generated - 1, 1)[0]
        return self

    def __repr__(self):
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"
