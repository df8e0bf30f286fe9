"""Losses and reductions along the wrong dimension, or with their arguments exchanged."""

from __future__ import annotations

import weakref
from typing import ClassVar

import rushlight
from rushlight import _C

from ... import changes
from ...finding import Fix
from ...registry import Check, check, kind
from ...values import address_of
from .. import places
from ..places import found

kind(
    "softmax-over-batch",
    "softmax runs over the batch instead of the classes",
    """
softmax(dim=0) of an (N, C) tensor makes each column sum to one: the samples of a batch compete with
each other, and a sample's scores depend on what else is in the batch. The classes are the last
dimension: dim=1, or dim=-1.
""",
)
kind(
    "loss-arguments-swapped",
    "A loss got its target first and the prediction second",
    """
cross_entropy, nll_loss, binary_cross_entropy and their modules take (prediction, target). The other
way round nothing raises where the shapes agree; the number is another one, and gradients flow
through the place of the target.
""",
)
kind(
    "reduction-without-keepdim",
    "A row's sum is lined up with the columns",
    """
x.sum(1) of an (n, m) tensor has shape (n,), and (n, m) / (n,) lines it up with the columns. It
raises where n is not m; in a square tensor it passes, and each value is divided by another row's
sum. Keep the dimension: x / x.sum(1, keepdim=True).
""",
)
kind(
    "argmax-over-batch",
    "Predictions are taken over the samples instead of the classes",
    """
argmax(dim=0) of (N, C) scores gives for each class the sample that has most of it, and argmax()
without a dimension one number for the whole batch. Compared with N labels neither raises where N is
C, or where a single number broadcasts: an accuracy comes out that says nothing. The predictions
are argmax(dim=1), one for each sample.
""",
)

SOFTMAX = ("softmax", "_softmax", "special_softmax", "log_softmax", "special_log_softmax")
ROWS = ("nll_loss", "nll_loss_nd", "argmax", "max", "topk", "multinomial", "kl_div",
        "cross_entropy", "cross_entropy_loss")  # fmt: skip
POOLING = ("matmul", "mm", "bmm", "mul", "einsum")
TARGETED = ("cross_entropy", "cross_entropy_loss", "nll_loss", "nll_loss_nd",
            "binary_cross_entropy", "binary_cross_entropy_with_logits")  # fmt: skip
REDUCING = ("sum", "mean", "amax", "amin", "norm", "std", "logsumexp", "linalg_vector_norm",
            "linalg_norm", "max", "min")  # fmt: skip
LINED_UP = ("sub", "div", "mul", "add", "true_divide", "sub_", "div_", "mul_", "add_")


@check
class OverBatch(Check):
    kinds = ("softmax-over-batch",)
    needs: ClassVar = {"*": (f"op {' '.join(SOFTMAX)}", 1, "no softmax was seen")}

    def start(self, doctor):
        self.made, self.seen, self.scores, self.pooled = {}, {}, {}, set()
        doctor.watch.on("op", self.op, {*SOFTMAX, *ROWS, *POOLING})

    def op(self, op):
        if op.name in SOFTMAX:
            dim = op.argument(1, "dim")
            result = op.result
            if dim in (0, -2) and result.dim() == 2 and min(result.shape) > 1:
                self.made[op.site] = (op.site, op.module, tuple(result.shape), op.name)
                if op.source is not None and op.source.root.name == "linear":
                    self.scores[op.site] = result.data_ptr()  # rows of a Linear are samples
            return
        if op.name in POOLING:
            where = {a.data_ptr() for a in op.args if isinstance(a, _C.TensorBase)}
            # weights of an average over the samples
            self.pooled.update(site for site, place in self.scores.items() if place in where)
            return
        if op.source is None or op.source.root.site not in self.made:
            return
        if op.name in ("argmax", "max", "topk"):
            dim = op.argument(2 if op.name == "topk" else 1, "dim")
            if dim not in (1, -1):
                return
        self.seen.setdefault(op.source.root.site, (op.name, op.site))

    def findings(self, doctor):
        for site in self.scores:
            if site not in self.pooled:
                self.seen.setdefault(site, (None, None))
        return [self.finding(*self.made[site], *used) for site, used in self.seen.items()]

    def finding(self, site, module, shape, name, user, used):
        at, source, call = site, site.source, places.call_at(site)
        built = places.built(module) if module is not None else None
        if built is not None:
            source, call = built
            at = (source.file, call.lineno)
        fixes = []
        if call is not None:
            node = places.dimension(call, 0, -2)
            fixes = [source.fix(node, "1", "dim=1")] if node is not None else []
        line = places.place(at)[1]
        reader = f"{user} reads the {shape[0]} rows" if user else f"its {shape[0]} rows are samples"
        evidence = [
            (
                f"{name} of {shape} over dimension 0: each of {shape[1]} columns sums to one, "
                f"and {reader}"
            )
        ]
        return found(
            "softmax-over-batch", "wrong result", at,
            f"{name} runs over the {shape[0]} samples, not over the {shape[1]} classes", evidence,
            [(used, "where its rows are read")] if used and used.line != line else [],
            fixes,
        )  # fmt: skip


@check
class Swapped(Check):
    kinds = ("loss-arguments-swapped",)

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, TARGETED)

    def op(self, op):
        given, target = op.argument(0, "input"), op.argument(1, "target")
        if not isinstance(given, _C.TensorBase) or not isinstance(target, _C.TensorBase):
            return
        if target.requires_grad and not given.requires_grad:
            entry = self.seen.setdefault(op.site, [0, op.name])
            entry[0] += 1

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items()]

    def finding(self, site, count, name):
        fixes, call = [], places.call_at(site)
        if call is not None and len(call.args) > 1:
            a, b = (site.source.segment(n) for n in call.args[:2])
            edit = site.source.replace((call.args[0], b), (call.args[1], a))
            fixes.append(Fix(f"{b} first, {a} second", [edit]))
        evidence = [f"in {count} calls only the second argument of {name} had a gradient to get"]
        return found(
            "loss-arguments-swapped", "wrong result", site,
            "the loss takes (prediction, target) and got them exchanged", evidence, [], fixes,
        )  # fmt: skip


@check
class KeptDimension(Check):
    kinds = ("reduction-without-keepdim",)

    def start(self, doctor):
        self.reduced, self.seen = {}, {}
        doctor.watch.on("op", self.op, {*REDUCING, *LINED_UP})

    def op(self, op):
        if op.name in REDUCING:
            self.reduce(op)
        elif len(op.args) > 1 and isinstance(op.args[1], _C.TensorBase):
            whole, row = op.args[0], op.args[1]
            known = self.reduced.get(id(row))
            if known is None or known[0]() is not row or not isinstance(whole, _C.TensorBase):
                return
            same = whole.dim() == 2 and whole.shape[0] == whole.shape[1] == row.shape[0]
            if same and address_of(whole) == known[1]:
                self.seen.setdefault(op.site, (known[2], whole.shape[0], op.name))

    def reduce(self, op):
        whole = op.args[0] if op.args else None
        result = op.result[0] if isinstance(op.result, tuple) else op.result
        if not isinstance(whole, _C.TensorBase) or not isinstance(result, _C.TensorBase):
            return
        if whole.dim() != 2 or result.dim() != 1 or whole.shape[0] != whole.shape[1]:
            return
        if whole.shape[0] < 2:
            return
        dims = [op.kwargs.get("dim"), *op.args[1:3]]
        if not any(d in (1, -1, [1], [-1], (1,), (-1,)) for d in dims if d is not None):
            return
        if len(self.reduced) > 200:
            self.reduced.clear()
        self.reduced[id(result)] = (weakref.ref(result), address_of(whole), op.site)

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items()]

    def finding(self, site, reduced, n, name):
        fixes, call = [], places.call_at(reduced)
        if call is not None:
            text = changes.with_keyword(reduced.source, call, "keepdim", "True")
            fixes.append(reduced.source.fix(call, text))
        evidence = [f"({n}, {n}) {name} ({n},): value [i, j] met the reduction of row j, not of i"]
        return found(
            "reduction-without-keepdim", "wrong result", reduced,
            "a reduction of the rows is lined up with the columns", evidence,
            [(site, "where it is used")] if site.line != reduced.line else [], fixes,
        )  # fmt: skip


@check
class Predicted(Check):
    kinds = ("argmax-over-batch",)
    needs: ClassVar = {"*": ("op argmax max topk", 1, "no argmax was seen")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, {"argmax", "max", "topk", "eq", "__eq__"})

    def op(self, op):
        if op.name in ("argmax", "max", "topk"):
            scores = op.argument(0, "input")
            dim = op.argument(2 if op.name == "topk" else 1, "dim")
            wrong = dim in (0, -2) or (dim is None and op.name == "argmax")
            if wrong and isinstance(scores, _C.TensorBase) and scores.dim() == 2:
                right = scores.detach().argmax(1)
                op.facts = (("argmax", op.site, op.name, dim, tuple(scores.shape), right),)
        elif len(op.args) > 1:
            for given, labels in (op.args[:2], op.args[1::-1]):
                made = op.calls.made(given)
                facts = made.root.passed if made is not None else ()
                if facts and facts[0][0] == "argmax" and _are_labels(labels, facts[0][4]):
                    _, site, name, dim, shape, right = facts[0]
                    entry = self.seen.setdefault(site, [name, dim, shape, 0, 0, 0, op.site])
                    entry[3] += labels.numel()
                    entry[4] += int((given.flatten() == labels).sum())
                    entry[5] += int((right == labels).sum())

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items() if one[4] < one[5]]

    def finding(self, site, name, dim, shape, count, agree, right, compared):
        over = f"over dimension {dim}" if dim is not None else "over all dimensions"
        evidence = [
            (
                f"{name} {over} of {shape}; {agree} of {count:,} labels agree with it, {right} "
                "with the one over dimension 1"
            )
        ]
        call, fixes = places.call_at(site), []
        if call is not None:
            node, text = places.dimension(call, 0, -2), "1"
            if dim is None:
                node, text = call, changes.with_keyword(site.source, call, "dim", "1")
            fixes = [site.source.fix(node, text, "dim=1")] if node is not None else []
        return found(
            "argmax-over-batch", "wrong number", site,
            f"{name} runs over the {shape[0]} samples, not over the {shape[1]} classes of each",
            evidence, [(compared, "compared with the labels")] if compared is not site else [],
            fixes,
        )  # fmt: skip


def _are_labels(value, shape) -> bool:
    """Whether a tensor holds one class of (samples, classes) for each sample; not their order."""
    if not isinstance(value, _C.TensorBase) or tuple(value.shape) != shape[:1] or min(shape) < 2:
        return False
    if value.is_floating_point() or value.dtype is rushlight.bool or int(value.max()) >= shape[1]:
        return False
    return value.unique().numel() < shape[0]
