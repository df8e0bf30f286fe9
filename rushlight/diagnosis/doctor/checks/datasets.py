"""Data that changes while it is used: rows of a dataset written in place."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes
from ...finding import Fix
from ...registry import Check, check, kind
from ...source import Source
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


@check
class Changed(Check):
    kinds = ("data-changed-in-place",)
    needs: ClassVar = {
        "*": ("loader", 1, "no DataLoader was used"),
    }

    def start(self, doctor):
        self.watched = {}
        doctor.watch.on("loader", self.loader)

    def loader(self, loader):
        dataset = loader.dataset
        for _ in range(4):
            for name, tensor in _tensors(dataset):
                self.watched.setdefault(id(tensor), [tensor, dataset, name, tensor._version, []])
            dataset = getattr(dataset, "dataset", None)
            if dataset is None:
                break
        for tensor, _, _, _, versions in self.watched.values():
            versions.append(tensor._version)

    def findings(self, doctor):
        out = []
        for tensor, dataset, name, before, versions in self.watched.values():
            count = tensor._version - before
            writer = _C._last_writer(tensor)
            if count >= 2 and writer is not None and len(versions) >= 1:
                out.append(self.finding(tensor, dataset, name, count, writer))
        lines = set()
        return [f for f in out if not ((f.file, f.line) in lines or lines.add((f.file, f.line)))]

    def finding(self, tensor, dataset, name, count, writer):
        source = Source.of(writer[0])
        node = source.node_at(*writer[2:6]) if source else None
        statement = source.statement_of(node) if node is not None else None
        statement = _first_of(source, statement) if statement is not None else None
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
        yield from ((f"tensors[{i}]", t) for i, t in enumerate(held) if _is_tensor(t))
        return
    for name, value in list(getattr(dataset, "__dict__", {}).items()):
        if _is_tensor(value):
            yield name, value
        elif isinstance(value, (list, tuple)):
            yield from ((f"{name}[{i}]", t) for i, t in enumerate(value[:200]) if _is_tensor(t))


def _is_tensor(value) -> bool:
    return isinstance(value, _C.TensorBase)


def _out_of_place(source: Source, statement) -> list[Fix]:
    """``x -= y`` as ``x = x - y``; before other changes a clone."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        text = changes.out_of_place(source, statement)
        return [Fix(text, [source.replace((statement, text))])]
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
            return [Fix(new, [source.replace((call, new))])]
    while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
        target = target.func.value
    if isinstance(target, ast.Name):
        line = f"{target.id} = {target.id}.clone()"
        return [Fix(f"{line} before it", [source.insert_before(statement, line)])]
    return []
