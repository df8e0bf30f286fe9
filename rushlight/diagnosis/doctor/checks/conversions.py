"""Values converted for nothing: float64 that crept in, round trips of dtypes, reads one by one."""

from __future__ import annotations

import ast
import weakref
from time import perf_counter

from rushlight import _C

from ... import changes, upstream
from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "float64-creeps-in",
    "float64 data meets float32 results, and all that follows is float64",
    """
numpy's default is float64, and torch.from_numpy and torch.tensor(array) keep it. A float64 tensor
that meets a float32 one makes the result float64: twice the memory, half the speed, and sooner or
later an error about dtypes. Convert where the data comes in: .float(), or astype("float32").
""",
)
kind(
    "dtype-round-trip",
    "Values are converted to another dtype and straight back",
    """
x.double().float() and its like copy all values twice and change nothing (or, by way of a smaller
dtype, lose digits). Leave both conversions out.
""",
)
kind(
    "copy-of-temporary",
    "A fresh result is cloned, though nothing else holds it",
    """
clone() is for a tensor that somebody else may still change or read. The result of an expression,
(a + b).clone(), belongs to nobody yet: cloning it copies all of its bytes for nothing.
""",
)
kind(
    "values-read-one-by-one",
    "A loop reads single values out of tensors",
    """
Reading one value with item(), float() or an index costs a function call, some hundred
nanoseconds, however small the work: a loop over all elements of a tensor is thousands of times
slower than one op over all of them. Use an op of the whole tensor (sum, mean, comparison, gather),
or tolist() once before the loop. A single item() per step is no harm.
""",
)

FLOATS = {"to", "float", "double", "half", "bfloat16", "type", "type_as"}
LEAST_BYTES = 2 << 20
MIXING = (
    "add sub mul div rsub __rsub__ mse_loss l1_loss smooth_l1_loss huber_loss where add_ sub_ mul_ "
    "maximum minimum pow binary_cross_entropy_with_logits"
).split()
READS = frozenset("item __float__ __int__ __bool__ __index__ tolist".split())
LEAST_READS = 10_000
LEAST_SPENT = 1e-3  # seconds


@check
class Float64(Check):
    kinds = ("float64-creeps-in",)

    def start(self, doctor):
        self.seen, self.datasets = {}, []
        doctor.watch.on("op", self.op, MIXING)
        doctor.watch.on("loader", self.loader)

    def loader(self, loader):
        dataset = upstream.whole_dataset(loader.dataset)
        if len(self.datasets) < 8 and all(d is not dataset for d in self.datasets):
            self.datasets.append(dataset)

    def op(self, op):
        result = op.result
        if not isinstance(result, _C.TensorBase) or result.itemsize != 8:
            return
        if not result.is_floating_point() or len(op.args) < 2:
            return
        wide = narrow = None
        for number, a in enumerate(op.args[:2]):
            if isinstance(a, _C.TensorBase) and a.is_floating_point():
                if a.itemsize == 8 and a.dim() > 0:
                    wide = (number, a)
                elif a.itemsize == 4 and (a.grad_fn is not None or a.requires_grad):
                    narrow = a
        if wide is None or narrow is None:
            return
        entry = self.seen.get(op.site)
        if entry is None:
            entry = self.seen[op.site] = [op.name, 0, 0, *wide, self.came_from(wide[1])]
        entry[1] += 1
        entry[2] += result.nbytes

    def came_from(self, tensor):
        """(Source, node) of the expression that brought float64 in, or None."""
        whole = tensor
        for dataset in self.datasets:
            held = getattr(dataset, "tensors", None) or vars(dataset).values()
            for one in held:
                alike = isinstance(one, _C.TensorBase) and one.dtype == tensor.dtype
                if alike and one.shape[1:] == tensor.shape[1:]:
                    whole = one
            array = _array_of(dataset, tensor)
            if array is not None:
                return array
        return places.origin_node(whole)

    def findings(self, doctor):
        out = []
        for site, (name, count, total, number, tensor, spot) in self.seen.items():
            if count >= 3 and not any(f.title.startswith("float64") for f in out):
                out.append(self.finding(site, name, count, total, number, tensor, spot))
        return out

    def finding(self, site, name, count, total, number, tensor, spot):
        evidence = [
            (
                f"{count} times {name} of float32 and a float64 tensor {tuple(tensor.shape)} "
                f"gave float64: {total:,} bytes instead of {total // 2:,}"
            )
        ]
        at, fixes = site, []
        if spot is not None and isinstance(spot[1], ast.Call):
            source, node = spot[:2]
            text = changes.method(source, node, "float()" if len(spot) == 2 else spot[2])
            at = (source.file, node.lineno)
            fixes.append(source.fix(node, text))
        operand = places.operand(site, number)
        if operand is not None:
            text = changes.method(site.source, operand, "float()")
            fixes.append(site.source.fix(operand, text))
        related = [(site, "where it meets float32")] if at is not site else []
        return found(
            "float64-creeps-in", "time", at, "float64 data makes float32 results float64", evidence,
            related, fixes,
        )  # fmt: skip


def _array_of(dataset, tensor):
    """(Source, node, conversion) of a float64 array that a dataset makes its samples from."""
    for name, held in vars(dataset).items():
        is_array = type(held).__module__ == "numpy" and str(getattr(held, "dtype", "")) == "float64"
        if is_array and tuple(held.shape[1:]) == tuple(tensor.shape[1:]):
            spot = upstream.attribute_of(dataset, name)
            if spot is not None:
                return spot.source, spot.node, 'astype("float32")'
    return None


@check
class Copies(Check):
    kinds = ("dtype-round-trip", "copy-of-temporary")

    def start(self, doctor):
        self.trips, self.clones = {}, {}
        self.before = {}  # by address of a result: what it was converted from, and where
        doctor.watch.on("op", self.op, [*FLOATS, "clone"])

    def op(self, op):
        if op.name in FLOATS and isinstance(op.result, _C.TensorBase):
            self.converted(op)
        elif op.name == "clone" and op.args:
            node = op.site.node
            inner = (
                node.func.value if isinstance(node, ast.Call) and places.is_method(op.site) else 0
            )
            fresh = isinstance(inner, ast.BinOp) or (
                isinstance(inner, ast.Call) and op.args[0]._base is None and self.is_new(op, inner)
            )
            if fresh and op.args[0]._base is None:
                entry = self.clones.setdefault(op.site, [0, 0])
                entry[0] += 1
                entry[1] += op.result.nbytes

    def is_new(self, op, inner) -> bool:
        """Whether a call's result is memory of its own, made on this line by an op."""
        made = op.calls.made(op.args[0])
        from ..calls import PASSING

        return made is not None and made.name not in PASSING and made.site.line == op.site.line

    def converted(self, op):
        given, result = op.args[0], op.result
        if given.dtype == result.dtype:
            return
        known = self.before.get(id(given))
        back = known is not None and known[0]() is given and known[1] == result.dtype
        if back and self.is_lossless(op, given):
            entry = self.trips.setdefault(op.site, [known[2], 0, 0, str(given.dtype)])
            entry[1] += 1
            entry[2] += result.nbytes + given.nbytes
        if len(self.before) > 200:
            self.before.clear()
        self.before[id(result)] = (weakref.ref(result), given.dtype, op.site)

    def is_lossless(self, op, given) -> bool:
        return given.itemsize >= op.result.itemsize and given.is_floating_point()

    def findings(self, doctor):
        out = []
        for site, (first, count, total, dtype) in self.trips.items():
            if total >= LEAST_BYTES:
                out.append(self.trip(site, first, count, total, dtype))
        for site, (count, total) in self.clones.items():
            if total >= LEAST_BYTES:
                out.append(self.clone(site, count, total))
        return out

    def trip(self, site, first, count, total, dtype):
        evidence = [
            (
                f"{count} times to {dtype.removeprefix('torch.')} and back: "
                f"{total / (1 << 20):,.1f} MiB copied, no value changed"
            )
        ]
        fixes, inner = [], places.operand(site, 0)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            text = site.source.segment(inner.func.value)
            fixes.append(site.source.fix(site.node, text))
        return found(
            "dtype-round-trip", "time", site, "converted and straight back", evidence,
            [(first, "the way there")] if first.line != site.line else [], fixes,
        )  # fmt: skip

    def clone(self, site, count, total):
        inner, fixes = places.operand(site, 0), []
        evidence = [
            f"{count} clones of results that nothing else held: {total / (1 << 20):,.1f} MiB"
        ]
        if inner is not None:
            text = site.source.segment(inner)
            text = f"({text})" if isinstance(inner, ast.BinOp) else text
            fixes.append(site.source.fix(site.node, text, "without clone()"))
        return found(
            "copy-of-temporary", "time", site, "a clone of what nobody holds", evidence, [], fixes
        )


@check
class Reads(Check):
    kinds = ("values-read-one-by-one",)

    def start(self, doctor):
        self.sites, self.passes = {}, doctor.passes
        doctor.watch.on("op", self.op, READS)

    def op(self, op):
        self.sites[op.site] = self.sites.get(op.site, 0) + 1

    def findings(self, doctor):
        worst = max(self.sites, key=self.sites.get, default=None)
        if worst is None or self.sites[worst] < LEAST_READS:
            return []
        count, each, steps = self.sites[worst], _cost_of_a_read(), self.passes.steps
        spent = count * each
        loops = worst.source.loops_around(worst.node) if worst.node is not None else []
        if (
            spent < LEAST_SPENT
            or count < 100 * steps
            or not (loops or _in_comprehension(worst.node))
        ):
            return []
        evidence = [
            f"{count:,} reads or more of one value, {each * 1e6:.2f} us each as measured here: "
            f"{spent * 1e3:,.1f} ms" + (f" in {steps} steps" if steps else "")
        ]
        return [
            found(
                "values-read-one-by-one", "time", worst, "a loop reads tensors value by value",
                evidence, [], self.listed(worst, loops),
            )
        ]  # fmt: skip

    def listed(self, site, loops) -> list[Fix]:
        """``for v in t: ... v.item()`` over ``t.tolist()``."""
        inner = places.operand(site, 0)
        if not loops or not isinstance(inner, ast.Name) or not isinstance(loops[0], ast.For):
            return []
        loop = loops[0]
        if not isinstance(loop.target, ast.Name) or loop.target.id != inner.id:
            return []
        uses = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == inner.id]
        if len(uses) != 2 or loop.iter.lineno != loop.lineno:
            return []
        text = changes.method(site.source, loop.iter, "tolist()")
        edits = [
            site.source.replace((loop.iter, text)),
            site.source.replace((site.node, inner.id)),
        ]
        return [Fix(f"{text} once", edits)] if edits[0].line != edits[1].line else []


def _in_comprehension(node) -> bool:
    while node is not None and not isinstance(node, ast.stmt):
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            return True
        node = getattr(node, "parent", None)
    return False


def _cost_of_a_read() -> float:
    """Seconds for an index and an item(), the least of five measurements."""
    import rushlight as torch

    t, times = torch.ones(100), []
    for _ in range(5):
        began = perf_counter()
        for i in range(100):
            t[i].item()
        times.append((perf_counter() - began) / 100)
    return min(times)
