"""Data of an evaluation that are standardized by their own mean and deviation."""

from __future__ import annotations

import ast
import re
import weakref
from typing import ClassVar

import rushlight
from rushlight import _C

from ... import changes, upstream, values
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "standardized-by-its-own",
    "Validation data are standardized by their own mean and deviation",
    """
Training data are brought to mean 0 and deviation 1. New data have to go through the same numbers,
(x - train_mean) / train_std: the model knows no other scale. With a mean and a deviation of their
own, rows that differ from the training's look as if they did not, the same row gives other results
in another company, and a single row has no deviation at all.
""",
)

LEAST_ROWS = 20
LOOKS = 16  # at one place
MOST_VALUES = 1 << 24
MOST_CALLS = 200
EVALUATED = re.compile(r"(?i)val|test|dev|eval|hold")


class _Table:
    """Rows that have mean 0 and deviation 1 in some columns; where they were brought to that."""

    def __init__(self, rows, exact, site=None, deviation=None):
        self.rows, self.exact, self.site, self.deviation = rows, exact, site, deviation


@check
class Standards(Check):
    kinds = ("standardized-by-its-own",)
    needs: ClassVar = {"*": ("forward", 2, "no module ran")}

    def start(self, doctor):
        self.tables, self.looks, self.given, self.calls = {}, {}, {}, 0
        self.datasets = weakref.WeakKeyDictionary()
        self.used = {True: {}, False: {}}  # by whether it is trained with: tables by their ids
        self.passes, self.watch = doctor.passes, doctor.watch
        watch = doctor.watch
        watch.on("op", self.divided, ("div", "true_divide", "div_"))
        watch.on("op", self.made, ("tensor", "as_tensor", "from_numpy"))
        watch.on("batch", self.batch)
        watch.on("call", self.call)

    # ---- Tables of which columns have mean 0 and deviation 1

    def divided(self, op):
        if op.source is not None and op.source.name in ("sub", "sub_"):
            self.note(op, op.args[1] if len(op.args) > 1 else None)

    def made(self, op):
        self.note(op, None)

    def note(self, op, deviation):
        x = op.result
        if not _is_table(x) or self.looks.get(op.site, 0) >= LOOKS:
            return
        self.looks[op.site] = self.looks.get(op.site, 0) + 1
        exact = _exact(x)
        if exact:
            if isinstance(deviation, _C.TensorBase):
                deviation = float(deviation.float().mean())
            site = op.site if op.name.startswith(("div", "true")) else None
            self.tables[op.calls.seen] = _Table(len(x), exact, site, deviation)

    def table(self, tensor) -> _Table | None:
        made = self.watch.calls.made(tensor) if self.watch.calls is not None else None
        return self.tables.get(made.root.number) if made is not None else None

    # ---- Who is trained with them, and who is evaluated

    def batch(self, loader, batch):
        if self.calls < MOST_CALLS:
            table = self.of_dataset(upstream.whole_dataset(loader.dataset))
            for part in places.parts_of(batch).values() if table is not None else ():
                if isinstance(part, _C.TensorBase):
                    self.given[id(part)] = (weakref.ref(part), table)

    def of_dataset(self, dataset) -> _Table | None:
        """The table among what a dataset holds."""
        try:
            if dataset not in self.datasets:
                self.datasets[dataset] = self.held(dataset)
            return self.datasets[dataset]
        except TypeError:  # a list
            return None

    def held(self, dataset) -> _Table | None:
        inner = list(values.attributes(dataset).values())
        for one in [*getattr(dataset, "tensors", ()), *inner][:20]:
            if isinstance(one, _C.TensorBase):
                table = self.table(one)
                if table is not None:
                    return table
            elif type(one).__name__ == "ndarray" and str(one.dtype).startswith("float"):
                x = rushlight.as_tensor(one)
                exact = _exact(x) if _is_table(x) else None
                if exact:
                    return _Table(len(x), exact)
        return None

    def call(self, module, output, frame):
        self.calls += 1
        if self.calls > MOST_CALLS and self.calls % 16:
            return
        trains = rushlight.is_grad_enabled() and module.training
        for given in self.passes.arguments[:2]:
            if isinstance(given, _C.TensorBase):
                known = self.given.get(id(given))
                is_known = known is not None and known[0]() is given
                table = known[1] if is_known else self.table(given)
                if table is not None:
                    self.used[trains][id(table)] = table
        self.given.clear()

    # ---- What is told

    def findings(self, doctor):
        train, others = list(self.used[True].values()), list(self.used[False].values())
        others = [t for t in others if id(t) not in self.used[True]]
        if len(train) != 1 or not 1 <= len(others) <= 4:
            return []
        return [self.finding(train[0], t) for t in others if t.exact & train[0].exact]

    def finding(self, train, other):
        shared = (train.exact & other.exact) - {"all"}
        columns = f"{len(shared)} of their columns" if shared else "all of their values"
        evidence = [
            (
                f"the {other.rows:,} rows that are evaluated have mean 0 and deviation 1 in "
                f"{columns}, as the {train.rows:,} of the training have"
            )
        ]
        if train.deviation and other.deviation and train.deviation != other.deviation:
            evidence[0] += (
                f": those were divided by {train.deviation:.5g} on average, these by "
                f"{other.deviation:.5g}"
            )
        at, fixes = self.place(train, other)
        if at is None:
            return None
        return found(
            "standardized-by-its-own", "wrong number", at,
            "the rows of the evaluation are standardized by their own numbers", evidence,
            [(train.site, "the training's")], fixes,
        )  # fmt: skip

    def place(self, train, other):
        said = [Fix("the mean and deviation of the training data, for both")]
        if other.site is not None:
            if train.site is None or train.site is other.site:
                return other.site, said
            return _of_training(train.site, other.site) or (other.site, said)
        nodes = [(s, n) for s in upstream.program_sources() for n in ast.walk(s.tree)]
        own = [(s, n) for s, n in nodes if _is_by_its_own(n)]
        named = [one for one in own if EVALUATED.search(ast.unparse(one[1]))] or own
        if not named:
            return None, []
        source, node = named[-1]
        if called(node) == "fit_transform":
            func = node.func
            text = f"{source.segment(func.value)}.transform"
            return (source.file, node.lineno), [source.fix(func, text)]
        return (source.file, node.lineno), said


def _is_table(x) -> bool:
    """Whether a tensor is large enough for columns that come out exact by chance to be rare."""
    if not isinstance(x, _C.TensorBase) or x.device.type != "cpu" or not x.is_floating_point():
        return False
    return x.dim() >= 2 and len(x) >= LEAST_ROWS and x.numel() <= MOST_VALUES


def _exact(x) -> set:
    """The columns whose mean is 0 and whose deviation is 1 as exactly as none is by chance."""
    x = x.detach().double()
    exact = {"all"} if bool(_are_exact(x.reshape(-1, 1))) else set()
    if x.dim() == 2:
        exact |= set(_are_exact(x).nonzero().flatten().tolist())
    elif x.dim() == 4:  # images: by channel
        channels = x.movedim(1, 0).reshape(x.shape[1], -1).t()
        exact |= set(_are_exact(channels).nonzero().flatten().tolist())
    return exact


def _are_exact(x):
    """For each column of x, whether it was standardized by itself."""
    near = max(5e-5, 0.01 / len(x) ** 0.5)
    mean, square = x.mean(0), x.square().mean(0)
    ones = [1.0, 1 - 1 / len(x)]  # the deviation of a sample has one degree of freedom less
    return (mean.abs() < near) & ((square - ones[0]).abs() < near) | (
        (mean.abs() < near) & ((square - ones[1]).abs() < near)
    )


def _parts(node):
    """(x, its mean, its deviation) of ``(x - mean) / std``, else None."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    if not isinstance(node.left, ast.BinOp) or not isinstance(node.left.op, ast.Sub):
        return None
    return node.left.left, node.left.right, node.right


def _is_by_its_own(node) -> bool:
    """``(x - x.mean(0)) / x.std(0)`` or ``scaler.fit_transform(x)``."""
    if called(node) == "fit_transform":
        return isinstance(node.func, ast.Attribute)
    parts = _parts(node)
    if parts is None:
        return False
    x = ast.unparse(parts[0])
    return all(x in [ast.unparse(n) for n in ast.walk(p)] for p in parts[1:])


def _of_training(train, other):
    """(place, fixes) where the training's numbers can stand in for the others'."""
    source = other.source
    if source is None or train.file != other.file or train.node is None or other.node is None:
        return None
    first, last = _parts(train.node), _parts(other.node)
    if first is None or last is None:
        return None
    if source.function_of(train.node) is not source.function_of(other.node):
        return None
    texts = [source.segment(n) for n in first[1:]]
    names = [isinstance(n, (ast.Name, ast.Attribute)) for n in (*first[1:], *last[1:])]
    if all(names) and texts == [source.segment(n) for n in last[1:]]:
        return _computed_again(source, train, other, last[1])
    if all(names[:2]):
        edit = source.replace((last[1], texts[0]), (last[2], texts[1]))
        return other, [Fix(f"{texts[0]} and {texts[1]} of the training", [edit])]
    mean = changes.free_name(source, "mean", "train_mean")
    std = changes.free_name(source, "std", "train_std")
    line = f"{mean}, {std} = {texts[0]}, {texts[1]}"
    held = changes.after_line(source, train.statement, line, list(first[1:]), [mean, std])
    return other, [Fix(line, [held, source.replace((last[1], mean), (last[2], std))])]


def _computed_again(source, train, other, name):
    """``mean, std = x_val.mean(0), x_val.std(0)`` between the two: the line goes."""
    scope, text = source.function_of(name), source.segment(name)
    bound = source.last_assignment(text, other.line, scope)
    if not isinstance(bound, ast.Assign) or bound.lineno <= train.line:
        return None
    text = source.lines[bound.lineno - 1].strip()
    return (source.file, bound.lineno), [Fix(f"without {text}", [source.remove(bound)])]
