"""Numbers that rate a model: means of batches that are not alike, and what they are divided by."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes
from ...finding import Fix
from ...frames import Failed, called
from ...registry import Check, check, kind
from .. import places
from ..loaders import Recent, length_of
from ..places import found

kind(
    "uneven-batches-averaged",
    "An evaluation averages the means of batches of different sizes",
    """
The last batch of a loader holds what is left over. Where each batch's mean loss or accuracy is
added up and divided by the number of batches, a row of a small last batch counts for more than the
others, and the number changes with the batch size. Add up the batch's mean times its rows, and
divide by the rows of the dataset.
""",
)

kind(
    "divided-by-wrong-count",
    "A sum over the rows is divided by the number of batches, or the other way round",
    """
The number of right answers is a sum over rows: divided by len(loader), the number of batches, an
accuracy comes out above 1. A mean loss is one number per batch: divided by len(dataset), the number
of rows, it is too small by the batch size. Divide counts by the rows, len(loader.dataset), and
means by the batches, len(loader).
""",
)

# Losses, and where the number stands that says how they reduce: 1 is the mean.
REDUCTIONS = {
    "cross_entropy_loss": 3, "nll_loss": 3, "nll_loss_nd": 3, "binary_cross_entropy": 3,
    "binary_cross_entropy_with_logits": 4, "mse_loss": 2, "l1_loss": 2, "smooth_l1_loss": 2,
    "huber_loss": 2, "kl_div": 2,
}  # fmt: skip
LEAST_OFF = 0.01  # of the mean over the rows


class _Sum:
    """What a loop adds to, or appends to; ``addends`` is what came to it with each batch."""

    def __init__(self, text, node):
        self.text, self.node, self.addends = text, node, []
        self._before = None  # the number at the last look, or how long the list was

    def look(self, value) -> bool:
        """Before each batch and at the end; whether it is a number, or only numbers are new."""
        is_list = isinstance(value, (list, tuple))
        now = len(value) if is_list else _number(value)
        before, self._before = self._before, now
        if now is None or before is None:
            return now is not None
        added = [_number(v) for v in value[before:]] if is_list else [now - before]
        if None in added:
            return False
        self.addends.append(sum(added))
        return True


class _Pass:
    """One pass over a loader that has led to no step so far, and what its loop added up.

    ``sizes`` of its batches, ``means`` that were computed in each, ``sums`` of numbers that the
    loop accumulates.
    """

    def __init__(self, loader, source, loop):
        self.loader, self.source, self.loop = loader, source, loop
        self.sums = [_Sum(*one) for one in _accumulating(loop)]
        self.sizes, self.means, self.counts = [], [], []
        self.rows = None  # how the loop's body says how many rows a batch has
        self.text = None  # and what it calls the loader
        self.trains = False

    def look(self, frame):
        at = Failed(frame, self.source.file, self.loop.lineno, "", self.source, None)
        self.sums = [s for s in self.sums if s.look(at.value(s.node, None))]
        if self.sizes and self.rows is None:
            self.rows = _rows_in(at, self.loop.target)
            parts = [n for n in ast.walk(self.loop.iter) if isinstance(n, ast.expr)]
            said = (ast.unparse(n) for n in parts if at.value(n, None) is self.loader)
            self.text = next(said, "")

    def adding(self, known: list[list[float]]):
        """(what was added up, its addends) where each addend is one of the numbers of its batch."""
        for s in self.sums:
            if len(s.addends) == len(self.sizes) and all(
                any(_same(a, m) for m in numbers)
                for a, numbers in zip(s.addends, known, strict=True)
            ):
                yield s.text, s.addends


@check
class Averages(Check):
    kinds = ("uneven-batches-averaged", "divided-by-wrong-count")
    needs: ClassVar = {"*": ("batch", 2, "fewer than 2 batches of a DataLoader")}

    def start(self, doctor):
        self.running, self.current = Recent(), None
        self.seen, self.divided = {}, {}
        watch = doctor.watch
        watch.on("loader", self.loader)
        watch.on("asked", self.asked)
        watch.on("batch", self.batch)
        watch.on("stepped", self.stepped)
        watch.on("op", self.op, {"mean", "sum", *REDUCTIONS})

    def stepped(self, optimizer):
        if self.current is not None:
            self.current.trains = True

    def loader(self, loader):
        size, site = loader.batch_size, places.here()
        if not size or loader.drop_last:
            return
        if (length_of(loader.dataset) or 0) > size and site is not None and site.source is not None:
            node = site.node
            while node is not None and not isinstance(node, (ast.For, ast.FunctionDef)):
                node = getattr(node, "parent", None)
            if isinstance(node, ast.For) and _accumulating(node):
                self.running.pop(id(loader), None)
                self.running.entry(id(loader), lambda: _Pass(loader, site.source, node))

    def asked(self, loader):
        one = self.running.get(id(loader))
        frame = next(iter(places.user_frames()), None) if one is not None else None
        if frame is None or frame.f_code.co_filename != one.source.file:
            return
        one.look(frame)
        if len(one.sizes) == len(loader):
            del self.running[id(loader)]
            self.current = None
            self.judge(one, frame)

    def batch(self, loader, batch):
        self.current = self.running.get(id(loader))
        if self.current is not None:
            parts = places.parts_of(batch).values()
            sizes = [len(p) for p in parts if isinstance(p, _C.TensorBase) and p.dim()]
            self.current.sizes.append(sizes[0] if sizes else 0)
            self.current.means.append([])
            self.current.counts.append([])

    def op(self, op):
        one = self.current
        if one is None or not one.means or len(one.means[-1]) > 64:
            return
        value = op.result
        if not isinstance(value, _C.TensorBase) or value.dim() or value.device.type != "cpu":
            return
        if op.name in REDUCTIONS and op.argument(REDUCTIONS[op.name], "reduction") != 1:
            return
        number, size = value.item(), one.sizes[-1] or 1
        if op.name == "sum" and op.args[0].numel() == size and number == int(number):
            one.counts[-1].append(number)
        mean = number / (size if op.name == "sum" else 1)
        one.means[-1] += [mean, 100 * mean] if size != 100 else [mean]  # else that is a sum

    def judge(self, one, frame):
        rows, batches = sum(one.sizes), len(one.sizes)
        if not all(one.sizes) or rows != length_of(one.loader.dataset):
            return
        at = Failed(frame, one.source.file, one.loop.lineno, "", one.source, None)
        for known, wrong, right in ((one.counts, batches, rows), (one.means, rows, batches)):
            for text, addends in one.adding(known):
                node = _divided(at, one.loop, text, wrong, right)
                if node is not None and (sum(addends) > batches or wrong == rows):
                    self.divided.setdefault(node, (one, text, sum(addends), wrong, right))
        if one.trains or rows % one.sizes[0] == 0:
            return
        for text, addends in one.adding(one.means):
            mean = sum(addends) / len(addends)
            right = sum(a * n for a, n in zip(addends, one.sizes, strict=True)) / rows
            off = abs(mean - right) / abs(right) if right else 0.0
            key = (one.source.file, one.loop.lineno, text)
            if off >= LEAST_OFF and off > self.seen.get(key, (0.0,))[0]:
                self.seen[key] = (off, one, text, mean, right)

    def findings(self, doctor):
        divided = [self.of_count(node, *one) for node, one in self.divided.items()]
        return divided + [self.finding(*one) for one in self.seen.values()]

    def of_count(self, node, one, text, total, wrong, right):
        source, of_rows = one.source, right > wrong
        said = ("rows", "batches") if of_rows else ("batches", "rows")
        evidence = [
            (
                f"{text} adds up {total:.6g} over {right} {said[0]} and is divided by {wrong} "
                f"{said[1]}: {total / wrong:.4g}; by the {said[0]} it is {total / right:.4g}"
            )
        ]
        fixes = []
        if one.text:
            fixes.append(source.fix(node, f"len({one.text}{'.dataset' if of_rows else ''})"))
        what = "a count of rows" if of_rows else "a sum of means of batches"
        return found(
            "divided-by-wrong-count", "wrong number", (source.file, node.lineno),
            f"{what} is divided by the number of {said[1]}", evidence,
            [((source.file, one.loop.lineno), "the loop over the batches")], fixes,
        )  # fmt: skip

    def finding(self, off, one, text, mean, right):
        source, loop = one.source, one.loop
        averaging = _averaging(source, loop, text, one.text)
        if averaging is None:
            return None
        node, count = averaging
        evidence = [
            (
                f"{text}: {len(one.sizes)} batches of {one.sizes[0]} rows, the last of "
                f"{one.sizes[-1]}; the mean of their means is {mean:.4g}, that of all "
                f"{sum(one.sizes)} rows {right:.4g} ({off:.1%} off)"
            )
        ]
        fixes = []
        if one.rows and one.text:
            edits = [
                source.replace((value, f"{changes.atom(source, value)} * {one.rows}"))
                for value in _addends(loop, text)
            ]
            total = f"len({one.text}.dataset)"
            whole = f"sum({text}) / {total}"
            new = source.replace((count, total) if count is not None else (node, whole))
            fixes.append(Fix(f"means times {one.rows}, divided by {total}", [*edits, new]))
        return found(
            "uneven-batches-averaged", "wrong number", (source.file, node.lineno),
            "a mean over batches of different sizes is no mean over the rows", evidence,
            [((source.file, loop.lineno), "the loop over the batches")], fixes,
        )  # fmt: skip


def _accumulating(loop) -> list[tuple[str, ast.expr]]:
    """What a loop adds to, or appends to: the text and node of each."""
    found_ = {}
    for node in ast.walk(loop):
        target, _ = _accumulation(node)
        if target is not None:
            found_.setdefault(ast.unparse(target), target)
    return list(found_.items())


def _accumulation(node):
    """(what a statement or call adds to, what it adds), or (None, None)."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return node.target, node.value
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        target, value = node.targets[0], node.value
        if isinstance(value.op, ast.Add) and ast.unparse(value.left) == ast.unparse(target):
            return target, value.right
    if called(node) == "append" and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        return node.func.value, node.args[0]
    return None, None


def _addends(loop, text: str) -> list:
    """The nodes of what a loop adds to something."""
    pairs = [_accumulation(node) for node in ast.walk(loop)]
    return [value for target, value in pairs if target is not None and ast.unparse(target) == text]


def _averaging(source, loop, text: str, loader: str):
    """(a division by the number of batches, the node of that number where it alone has to go)."""
    counts = _counts(source, loop, loader)
    for node in ast.walk(source.function_of(loop) or source.tree):
        if getattr(node, "lineno", 0) < loop.lineno:
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            count = node.right
            if called(count) == "max" and count.args:
                count = count.args[0]
            said = (ast.unparse(node.left), ast.unparse(count))
            if said == (f"sum({text})", f"len({text})") or (said[0] == text and said[1] in counts):
                return node, node.right
        elif called(node) in ("mean", "fmean"):
            inner = node.args[0] if node.args else getattr(node.func, "value", None)
            while called(inner) in ("stack", "tensor", "array", "asarray") and inner.args:
                inner = inner.args[0]
            if inner is not None and ast.unparse(inner) == text:
                return node, None
    return None


def _divided(at, loop, text: str, wrong: int, right: int):
    """The node of ``wrong``, by which a sum is divided after the loop, and never by ``right``."""
    found_ = None
    for node in ast.walk(at.source.function_of(loop) or at.source.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            total, count = node.left, node.right
            if isinstance(total, ast.BinOp) and isinstance(total.op, ast.Mult):  # 100 * correct
                parts = [total.left, total.right]
                total = next((p for p in parts if not isinstance(p, ast.Constant)), total)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            total, count = node.target, node.value
        else:
            continue
        if node.lineno > loop.lineno and ast.unparse(total) == text:
            number = _length(at, count)
            if number == right:
                return None
            found_ = count if number == wrong else found_
    return found_


def _length(at, node):
    """The number that a program divides by: ``len(loader)``, or a name of it."""
    if called(node) in ("len", "float", "max") and node.args:
        inner = node.args[0]
        if called(node) != "len":
            return _length(at, inner)
        held = at.value(inner, None)
        return len(held) if hasattr(held, "__len__") else None
    if isinstance(node, ast.Name):
        bound = at.source.last_assignment(node.id, node.lineno, at.source.function_of(node))
        if isinstance(bound, ast.Assign) and called(bound.value) == "len":
            return _length(at, bound.value)
    return _number(at.value(node, None))


def _counts(source, loop, loader: str) -> set[str]:
    """How a program says the number of batches after a loop over them."""
    counts = {f"len({loader})"}
    for target, value in map(_accumulation, ast.walk(loop)):
        if isinstance(value, ast.Constant) and value.value == 1:
            counts.add(ast.unparse(target))
    if called(loop.iter) == "enumerate" and isinstance(loop.target, ast.Tuple):
        first = ast.unparse(loop.target.elts[0])
        counts |= {f"{first} + 1", first}
    for node in ast.walk(source.function_of(loop) or source.tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) in counts:
            counts |= {ast.unparse(t) for t in node.targets}
    return counts


def _rows_in(at, target) -> str | None:
    """How a loop's body says the rows of its batch: the length of the last tensor it binds."""
    names = [n for n in ast.walk(target) if isinstance(n, ast.Name)]
    for name in reversed(names):
        value = at.value(name, None)
        if isinstance(value, _C.TensorBase) and value.dim():
            return f"len({name.id})"
        for key, part in places.parts_of(value).items():
            if key is not None and isinstance(part, _C.TensorBase) and part.dim():
                return f"len({name.id}[{key!r}])"
    return None


def _number(value):
    """A number, or that of a tensor of one; None of anything else."""
    if isinstance(value, _C.TensorBase):
        return value.item() if value.numel() == 1 and value.device.type == "cpu" else None
    return float(value) if isinstance(value, (int, float)) else None


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-4 * abs(b)
