"""Vectors that were given length 1 along one dimension and are multiplied along another."""

from __future__ import annotations

import ast
import weakref
from collections import deque

from rushlight import _C

from ... import changes
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from ..places import found

kind(
    "normalized-wrong-dimension",
    "Vectors are normalized along one dimension, and their products sum over another",
    """
The cosine of two vectors is the product of vectors of length 1. F.normalize(x, dim=0) gives the
columns of a batch length 1 and leaves the rows, the samples, with any length: a @ b.T then holds no
cosines, and depends on the size of the batch. Normalize the dimension that the product sums over,
dim=-1 for rows.
""",
)

NORMS = frozenset("norm linalg_norm linalg_vector_norm linalg_matrix_norm".split())
PASSED_ON = frozenset("clamp_min clamp clip expand_as add unsqueeze".split())
PRODUCTS = frozenset("matmul mm bmm linear addmm baddbmm".split())
MOST = 1 << 22  # elements
LOOKS = 8  # at one place
FAR = 0.05  # from length 1


class _Unit:
    """A result that was divided by norms; ``dims`` along which its vectors have length 1."""

    def __init__(self, site, values, dims):
        self.site, self.values, self.dims = site, values, dims


@check
class Cosines(Check):
    kinds = ("normalized-wrong-dimension",)

    def start(self, doctor):
        self.norms, self.units, self.looks, self.seen = {}, deque(maxlen=8), {}, {}
        doctor.watch.on("op", self.norm, NORMS)
        doctor.watch.on("op", self.passed_on, PASSED_ON)
        doctor.watch.on("op", self.divide, ("div", "true_divide"))
        doctor.watch.on("op", self.product, PRODUCTS)
        doctor.watch.on("op", self.multiply, ("mul",))
        doctor.watch.on("op", self.sum, ("sum",))
        self.multiplied = None  # a result, and the two vectors that were multiplied

    def norm(self, op):
        if len(self.norms) > 64:
            self.norms = {k: r for k, r in self.norms.items() if r() is not None}
        self.norms[id(op.result)] = weakref.ref(op.result)

    def is_norm(self, tensor) -> bool:
        known = self.norms.get(id(tensor))
        return known is not None and known() is tensor

    def passed_on(self, op):
        if self.norms and self.is_norm(op.args[0]):
            self.norm(op)

    def divide(self, op):
        if not self.norms or not self.is_norm(op.args[1]) or op.result.dim() < 2:
            return
        looks = self.looks[op.site] = self.looks.get(op.site, 0) + 1
        if looks > LOOKS or op.result.numel() > MOST or op.result.device.type != "cpu":
            return
        values = op.result.detach()
        dims = [d for d in range(values.dim()) if _lengths(values, d)[2]]
        if dims or abs(float(values.float().norm()) - 1) < FAR:
            self.units.append(_Unit(op.site, values, dims))

    def product(self, op):
        if len(self.units) == 0:
            return
        one, two = op.args[1:3] if op.name in ("addmm", "baddbmm") else op.args[:2]
        self.judge(op.site, [(one, -1), (two, -1 if op.name == "linear" else -2)])

    def multiply(self, op):
        """``(a * b).sum(dim)`` is a product, too: the one half of it."""
        if self.units and len(op.args) == 2 and None not in map(self.unit, op.args):
            self.multiplied = weakref.ref(op.result), op.args

    def sum(self, op):
        if self.multiplied is None or self.multiplied[0]() is not op.args[0]:
            return
        dim, (one, two) = op.argument(1, "dim"), self.multiplied[1]
        dim = dim[0] if isinstance(dim, (list, tuple)) and len(dim) == 1 else dim
        if isinstance(dim, int) and one.shape == two.shape:
            self.judge(op.site, [(one, dim), (two, dim)])
        self.multiplied = None

    def judge(self, site, sides):
        """Notes the sides whose vectors have not length 1 along what is summed over."""
        known = [(self.unit(t), t, dim) for t, dim in sides]
        if any(unit is None for unit, *_ in known):
            return
        for unit, tensor, dim in known:
            own = _dimension(unit.values, tensor, dim)
            low, high, is_unit = _lengths(unit.values, own) if own is not None else (0, 0, True)
            if not is_unit:
                entry = self.seen.setdefault(unit.site, [site, unit, own, 0, low, high])
                entry[3:] = [entry[3] + 1, min(entry[4], low), max(entry[5], high)]

    def unit(self, tensor) -> _Unit | None:
        """What is known of a tensor, or of one that it is a turned view of."""
        if not isinstance(tensor, _C.TensorBase) or tensor.dim() < 2:
            return None
        at, count = tensor.data_ptr(), tensor.numel()
        same = (u for u in self.units if u.values.data_ptr() == at and u.values.numel() == count)
        return next(same, None)

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items()]

    def finding(self, site, product, unit, own, times, low, high):
        shape = tuple(unit.values.shape)
        given = f"dimension {unit.dims[0]}" if unit.dims else "all of it"
        evidence = [
            (
                f"{shape} has length 1 along {given}; the product sums over dimension {own}, along "
                f"which lengths are {low:.3g} ... {high:.3g} ({times} products looked at)"
            )
        ]
        return found(
            "normalized-wrong-dimension", "wrong result", site,
            f"normalized along {given}, multiplied along dimension {own}", evidence,
            [(product, "the product of the normalized vectors")], _fixes(site, own),
        )  # fmt: skip


def _lengths(values, dim: int) -> tuple[float, float, bool]:
    """The least and largest length of the vectors along a dimension; whether all that are not 0
    have length 1.
    """
    lengths = values.float().norm(dim=dim)
    some = lengths[lengths > 0]
    if not some.numel():
        return 0.0, 0.0, True
    low, high = float(some.min()), float(some.max())
    return low, high, max(1 - low, high - 1) < FAR


def _dimension(values, view, dim: int) -> int | None:
    """Which dimension of a tensor a view of it has as ``dim``."""
    size, step = view.shape[dim], view.stride(dim)
    same = [d for d in range(values.dim()) if (values.shape[d], values.stride(d)) == (size, step)]
    return same[0] if len(same) == 1 else None


def _fixes(site, own: int) -> list[Fix]:
    """Another dimension in the call that normalizes, or in that of the norm."""
    source = site.source
    names = ("normalize", "norm", "vector_norm")
    calls = [n for n in ast.walk(site.node) if called(n) in names] if site.node is not None else []
    if not calls:
        return [Fix(f"normalize dimension {own}")]
    call = calls[0]
    given = changes.keyword(call, "dim")
    keeps = called(call) == "normalize" or changes.keyword(call, "keepdim") is not None
    if given is None and called(call) == "normalize" and len(call.args) > 2:
        given = call.args[2]
    if given is not None and keeps:
        text = changes.with_part(source, call, given, str(own))
        return [source.fix(given, str(own), text)]
    if called(call) != "normalize" and given is None and len(call.args) > 1:
        return [Fix(f"norm over dimension {own}, with keepdim=True")]
    text = changes.with_keyword(source, call, "dim", str(own))
    return [source.fix(call, text if keeps else text[:-1] + ", keepdim=True)")]
