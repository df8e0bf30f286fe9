"""Data that changes while it is used: rows written in place, a buffer that all samples share."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes, trial, upstream
from ...finding import Fix
from ...registry import Check, check, kind
from ...source import Source
from ...values import address_of, is_tensor
from .. import places
from ..loaders import Recent
from ..places import found

kind(
    "data-changed-in-place",
    "A dataset's own tensors are changed in place while they are read",
    """
Indexing gives a view: x = self.data[i] shares its memory with the dataset. An in-place change of it
(x -= mean, x.mul_(2), x[mask] = 0) changes the stored data, and each epoch reads what the one
before left: normalized twice, noise upon noise. Write x = x - mean, or clone() first.
""",
)
kind(
    "buffer-returned",
    "A dataset returns the same buffer for every sample",
    """
A buffer that __getitem__ fills anew and returns is one tensor under many names: by the time a
batch is put together, all of its samples show the values of the last one. Nothing fails, and the
model sees batches of copies. Return a copy, self.buffer.clone(), or make the tensor in __getitem__.
""",
)

# What fills a tensor whatever it held before.
FILLING = ("copy_", "fill_", "zero_", "__setitem__", "normal_", "uniform_", "random_", "bernoulli_")


@check
class Changed(Check):
    kinds = ("data-changed-in-place", "buffer-returned")
    needs: ClassVar = {
        "*": ("loader", 1, "no DataLoader was used"),
    }

    def start(self, doctor):
        self.watched, self.watch = Recent(), doctor.watch
        self.filled = {}  # by storage: {site: [times, regions]} of what filled it in this pass
        self.buffers = {}  # the most that a region was filled in one pass, by storage
        doctor.watch.on("loader", self.loader)

    def loader(self, loader):
        dataset = loader.dataset
        for _ in range(4):
            for name, tensor in _tensors(dataset):
                known = [tensor, dataset, name, tensor._version, loader]
                self.watched.entry(id(tensor), lambda known=known: known)
            dataset = getattr(dataset, "dataset", None)
            if dataset is None:
                break
        if self.watched and not self.filled:
            self.watch.on("op", self.fill, FILLING)
        self.filled = {address_of(t): {} for t, *_ in self.watched.values()}

    def fill(self, op):
        given = op.args[0] if op.args else None
        if not is_tensor(given) or (sites := self.filled.get(address_of(given))) is None:
            return
        index = repr(op.args[1]) if op.name == "__setitem__" and len(op.args) > 1 else ""
        entry = sites.setdefault(op.site, [0, set()])
        entry[0] += 1
        if len(entry[1]) < 1000:
            entry[1].add((given.data_ptr(), tuple(given.shape), index[:80]))
        if entry[0] >= 4 and entry[0] > 2 * len(entry[1]):
            self.buffers.setdefault(address_of(given), op.site)

    def findings(self, doctor):
        out = []
        for tensor, dataset, name, before, loader in self.watched.values():
            count = tensor._version - before
            writer, filler = _C._last_writer(tensor), self.buffers.get(address_of(tensor))
            if filler is not None:
                if (loader.batch_size or 1) > 1 and _gives(dataset, tensor):
                    out.append(self.buffer(tensor, dataset, name, loader, filler))
            elif count >= 2 and writer is not None:
                out.append(self.finding(tensor, dataset, name, count, writer))
        out = [f for f in out if f is not None]
        lines = set()
        return [f for f in out if not ((f.file, f.line) in lines or lines.add((f.file, f.line)))]

    def buffer(self, tensor, dataset, name, loader, filler):
        """A buffer that is filled for each sample, and is the sample."""
        returned = _returned(filler.source, filler.node, name) if filler.source else None
        fixes, at = [], filler
        if returned is not None:
            text = changes.method(filler.source, returned, "clone()")
            fixes.append(filler.source.fix(returned, text))
            at = (filler.file, returned.lineno)
        evidence = [
            (
                f"all {loader.batch_size} samples of a batch were {type(dataset).__name__}.{name} "
                f"{tuple(tensor.shape)} itself, which line {filler.line} fills for each: they "
                "show the last one's values"
            )
        ]
        related = [(filler, "filled anew here")] if at is not filler else []
        return found(
            "buffer-returned", "wrong result", at, "every sample is the same tensor",
            evidence, related, fixes,
        )  # fmt: skip

    def finding(self, tensor, dataset, name, count, writer):
        spot = upstream.of_place(writer)
        source = spot.source if spot is not None else None
        statement = _first_of(source, spot.statement) if spot is not None else None
        line = getattr(statement, "lineno", writer[2])
        evidence = [
            (
                f"{type(dataset).__name__}.{name} {tuple(tensor.shape)} was written {count} times "
                "since its first pass; a row that is read again is no longer what it was"
            )
        ]
        return found(
            "data-changed-in-place", "wrong result", (writer[0], line),
            f"this line changes the data of {type(dataset).__name__} itself", evidence, [],
            _out_of_place(source, statement) if statement is not None else [],
        )  # fmt: skip


def _changed_name(statement) -> str | None:
    """The name whose tensor a statement changes in place."""
    target = None
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        target = statement.targets[0]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        is_change = isinstance(func, ast.Attribute) and func.attr.endswith("_")
        target = func.value if is_change else None
    while isinstance(target, (ast.Subscript, ast.Call, ast.Attribute)):
        target = target.func if isinstance(target, ast.Call) else target.value
    return target.id if isinstance(target, ast.Name) else None


def _first_of(source: Source, statement):
    """The first statement of a function that changes what a later one changes, too."""
    name, function = _changed_name(statement), source.function_of(statement)
    if name is None or function is None:
        return statement
    found_ = [n for n in ast.walk(function) if isinstance(n, ast.stmt) and _changed_name(n) == name]
    return min(found_, key=lambda n: n.lineno, default=statement)


def _tensors(dataset):
    held = getattr(dataset, "tensors", None)
    if isinstance(held, (tuple, list)):
        yield from ((f"tensors[{i}]", t) for i, t in enumerate(held) if is_tensor(t))
        return
    for name, value in list(getattr(dataset, "__dict__", {}).items()):
        if is_tensor(value):
            yield name, value
        elif isinstance(value, (list, tuple)):
            yield from ((f"{name}[{i}]", t) for i, t in enumerate(value[:200]) if is_tensor(t))


def _gives(dataset, tensor) -> bool:
    """Whether a sample of a dataset is, or holds, a view of a tensor."""

    def is_view() -> bool:
        parts = places.parts_of(dataset[0]).values()
        where = address_of(tensor)
        return any(is_tensor(p) and p.numel() and address_of(p) == where for p in parts)

    return bool(trial.apart(is_view))


def _returned(source: Source, node, name: str):
    """What of a ``return`` beside a node is ``self.NAME`` or a local name for it, or None."""
    function = source.function_of(node) if node is not None else None
    if function is None:
        return None
    names = {f"self.{name}"}
    for each in ast.walk(function):
        if isinstance(each, ast.Assign) and ast.unparse(each.value) in names:
            names |= {ast.unparse(t) for t in each.targets}
    for each in ast.walk(function):
        if isinstance(each, ast.Return) and each.value is not None:
            value = each.value
            if isinstance(value, (ast.Tuple, ast.List)):
                parts = value.elts
            else:
                parts = value.values if isinstance(value, ast.Dict) else [value]
            for part in parts:
                if ast.unparse(part) in names:
                    return part
    return None


def _out_of_place(source: Source, statement) -> list[Fix]:
    """``x -= y`` as ``x = x - y``; before other changes a clone."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        text = changes.out_of_place(source, statement)
        return [source.fix(statement, text)]
    target = None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        target = func.value if isinstance(func, ast.Attribute) else None
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        target = statement.targets[0].value
    elif isinstance(statement, (ast.Assign, ast.Return)):
        call = next(
            (
                n
                for n in ast.walk(statement)
                if isinstance(n, ast.Call)
                and isinstance(n.func, ast.Attribute)
                and n.func.attr.endswith("_")
                and not n.func.attr.endswith("__")
            ),
            None,
        )
        if call is not None:
            text = changes.with_part(source, call, call.func.value, "")
            first = changes.atom(source, call.func.value)
            new = f"{first}.clone(){text}"
            return [source.fix(call, new)]
    while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
        target = target.func.value
    if isinstance(target, ast.Name):
        line = f"{target.id} = {target.id}.clone()"
        return [Fix(f"{line} before it", [source.insert_before(statement, line)])]
    return []
