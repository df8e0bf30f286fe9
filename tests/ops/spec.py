"""The words in which sample rows are written: row, call, fail, t, i, m, const.

Nothing here needs a tensor library: a spec is plain data, and its numbers follow from its shape,
the element type and a seed by integer arithmetic, so that every module sees the same samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

FLOATS = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTS = ("int64", "int32", "int16", "int8", "uint8")
ALL = FLOATS + COMPLEX + INTS + ("bool",)
REAL = FLOATS + INTS
FRACTIONAL = FLOATS + COMPLEX
WIDE = ("float32", "float64")
WIDE_COMPLEX = WIDE + COMPLEX


def scatter_bits(k: int, seed: int) -> int:
    """A 32-bit number that depends on k and seed without an evident pattern."""
    h = (k * 2654435761 + seed * 2246822519 + 374761393) & 0xFFFFFFFF
    h = ((h ^ (h >> 15)) * 2246822519) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 3266489917) & 0xFFFFFFFF
    return h ^ (h >> 16)


@dataclass(frozen=True)
class T:
    """A tensor to be made. Its floats are odd multiples of 1/32: exact in every float type,
    never zero, whole or half-way, so that no sample sits where a function jumps or bends."""

    shape: tuple
    dtype: str | None = None
    low: float = -4
    high: float = 4
    distinct: bool = False
    nonzero: bool = False
    values: tuple | None = None
    kind: str = ""
    seed: int | None = None
    layout: str = ""
    grad: bool = True

    def __repr__(self):
        words = [str(n) for n in self.shape]
        defaults = T(())
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name != "shape" and value != getattr(defaults, name):
                words.append(f"{name}={value!r}")
        return f"t({', '.join(words)})"


def t(*shape, **options) -> T:
    """A sample tensor of the row's element type; `values` gives its numbers outright."""
    if "values" in options:
        options["values"] = tuple(options["values"])
        shape = shape or (len(options["values"]),)
    return T(tuple(shape), **options)


def i(*shape, bound, low=0, dtype="int64", **options) -> T:
    """A tensor of whole numbers from low up to, but not including, bound: an index."""
    return T(tuple(shape), dtype=dtype, low=low, high=bound - 1, kind="index", **options)


def m(*shape, **options) -> T:
    """A mask: a bool tensor with both values in it."""
    return T(tuple(shape), dtype="bool", **options)


@dataclass(frozen=True)
class Const:
    """An attribute of the module under test (`const("float64")`), or the row's element type."""

    name: str

    def __repr__(self):
        return f"const({self.name!r})"


def const(name: str = "") -> Const:
    """torch.<name>, looked up in the module under test; with no name, the row's element type."""
    return Const(name)


@dataclass(frozen=True)
class Call:
    """Arguments of one call, and the element types it is restricted to."""

    args: tuple
    kwargs: dict = field(hash=False)
    only: tuple | None = None

    def __repr__(self):
        words = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        tail = f" only={','.join(self.only)}" if self.only else ""
        return f"({', '.join(words)}){tail}"

    def serves(self, dtype: str) -> bool:
        return self.only is None or dtype in self.only


def call(*args, only=None, **kwargs) -> Call:
    """A call that is made for every element type of the row (or those in `only`)."""
    return Call(args, kwargs, only)


def fail(*args, only=None, **kwargs) -> Call:
    """A call that must raise; type and message come from the recording."""
    return Call(args, kwargs, only)


@dataclass
class Row:
    """One Python-visible op and everything the sweeps need to know of it."""

    name: str
    calls: list
    fails: list
    dtypes: tuple = ALL
    alias: tuple = ()
    covers: tuple = ()
    grad: bool = True
    gradcheck: bool = True
    exact: bool = False
    promotion: bool = False
    seed: int | None = None
    inplace_flag: bool = False
    uninitialised: bool = False
    layouts: bool = True
    meta: bool = True
    # False: out= of another element type breaks PyTorch itself; None: any out= does.
    outs: bool | None = True
    rtol: dict = field(default_factory=dict)
    atol: dict = field(default_factory=dict)
    # Where PyTorch is wrong or has other words: "experiment key" (with *) and why; see apart.py.
    apart: dict = field(default_factory=dict)
    reference: str = ""  # in references.py: values off PyTorch's must be nearer to it
    family: str = ""


class Family:
    """The rows of one file, in order; calling it adds a row."""

    def __init__(self, name: str, **defaults):
        self.name = name.rpartition(".")[2]
        self.rows: list[Row] = []
        self.defaults = defaults

    def __call__(self, name: str, calls=(), fails=(), **options) -> None:
        merged = {**self.defaults, **options}
        self.rows.append(Row(name, list(calls), list(fails), family=self.name, **merged))


def numbers(spec: T, dtype: str, seed: int) -> list:
    """The flat list of Python numbers that a spec stands for in an element type."""
    seed = seed if spec.seed is None else spec.seed
    count = math.prod(spec.shape)
    if spec.values is not None:
        return [cast_number(x, dtype) for x in spec.values]
    if spec.kind in MATRICES:
        return MATRICES[spec.kind](spec, dtype, seed)
    if dtype.startswith("complex"):
        parts = (_reals(spec, "float64", seed, count), _reals(spec, "float64", seed + 101, count))
        return [complex(a, b) for a, b in zip(*parts, strict=True)]
    return _reals(spec, dtype, seed, count)


def cast_number(x, dtype: str):
    """x as a Python number of the category of dtype."""
    if dtype == "bool":
        return bool(x)
    if dtype in INTS:
        return int(x) & 255 if dtype == "uint8" else int(x)
    return complex(x) if dtype.startswith("complex") else float(x)


def _reals(spec: T, dtype: str, seed: int, count: int) -> list:
    if dtype == "bool":
        return [bool(scatter_bits(k, seed) & 1) if count > 2 else k != 1 for k in range(count)]
    if spec.distinct:
        return _distinct(dtype, seed, count)
    if dtype in INTS:
        low, high = math.ceil(spec.low), math.floor(spec.high)
        if dtype == "uint8" and low < 0:
            low, high = 0, high - low
        drawn = [low + scatter_bits(k, seed) % (high - low + 1) for k in range(count)]
        return [x or 1 for x in drawn] if spec.nonzero else drawn
    low, steps = round(spec.low * 16), round((spec.high - spec.low) * 16)
    return [(2 * (low + scatter_bits(k, seed) % steps) + 1) / 32 for k in range(count)]


def _distinct(dtype: str, seed: int, count: int) -> list:
    stride = next(a for a in range(7 + seed % 5, 10**6) if math.gcd(a, max(count, 1)) == 1)
    order = [(k * stride + seed) % count for k in range(count)]
    if dtype in INTS:
        return [p if dtype == "uint8" else p - count // 2 for p in order]
    return [(2 * p + 1 - count) / 32 for p in order]


def _matrix(entry):
    """Numbers of a batch of matrices from a rule entry(row, column, free numbers, size)."""

    def fill(spec: T, dtype: str, seed: int) -> list:
        rows, cols = spec.shape[-2:]
        plain = T(spec.shape, low=-1, high=1)
        free = numbers(plain, dtype, seed)
        out = []
        for start in range(0, len(free), rows * cols):
            block = free[start : start + rows * cols]
            cells = [block[r * cols : (r + 1) * cols] for r in range(rows)]
            out += [entry(cells, r, c) for r in range(rows) for c in range(cols)]
        return [cast_number(x, dtype) for x in out]

    return fill


def _conj(x):
    return x.conjugate() if isinstance(x, complex) else x


def _spd(cells, r, c):
    return (cells[r][c] + _conj(cells[c][r])) / 2 + (len(cells) if r == c else 0)


def _symmetric(cells, r, c):
    return (cells[r][c] + _conj(cells[c][r])) / 2 + (2 * r if r == c else 0)


MATRICES = {
    "spd": _matrix(_spd),
    "symmetric": _matrix(_symmetric),
    "regular": _matrix(lambda cells, r, c: cells[r][c] + (3 if r == c else 0)),
    "tril": _matrix(lambda cells, r, c: 0 if c > r else cells[r][c] + (2 if r == c else 0)),
    "triu": _matrix(lambda cells, r, c: 0 if c < r else cells[r][c] + (2 if r == c else 0)),
}
