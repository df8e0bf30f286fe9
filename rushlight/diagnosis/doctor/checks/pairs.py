"""Rows and labels that were put in two different orders, and no longer belong together."""

from __future__ import annotations

import ast
import weakref

import rushlight
from rushlight import _C
from rushlight.utils.data import RandomSampler, TensorDataset

from ... import changes
from ...finding import Fix
from ...registry import Check, check, kind
from .. import places, rows
from ..calls import site_of
from ..loaders import length_of
from ..passes import LOSSES
from ..places import found

kind(
    "rows-and-labels-apart",
    "Rows and their labels were shuffled differently",
    """
x[torch.randperm(n)] and y[torch.randperm(n)] draw two orders: row 5 then stands beside the label of
another row, and there is nothing to be learnt. The same happens where only one of them is shuffled,
and with two DataLoaders that shuffle each for itself. Draw one order and use it for both: perm =
torch.randperm(n); x, y = x[perm], y[perm]; or put both into one TensorDataset.
""",
)

LEAST_BROKEN = 0.5  # of the pairs
LEAST_ROWS = 8
SEARCHED = 1 << 22  # values of a dataset that is searched for the rows of a batch


class _Met:
    """What met at one place: rows of a prediction and of a target; ``pairs`` looked at."""

    def __init__(self, one, two, related, table):
        self.one, self.two, self.related = one, two, related
        self.table = table  # what the program calls the table of the side that nobody shuffled
        self.pairs = self.broken = 0


@check
class Pairs(Check):
    kinds = ("rows-and-labels-apart",)

    def start(self, doctor):
        self.passes, self.loaders, self.watch = doctor.passes, doctor.loaders, doctor.watch
        self.drawn = rows.Drawn(doctor.watch)
        self.outputs, self.given, self.met, self.right, self.zipped = {}, {}, {}, set(), {}
        doctor.watch.on("call", self.call)
        doctor.watch.on("loader", self.loader)
        doctor.watch.on("batch", self.batch)
        doctor.watch.on("op", self.op, LOSSES | {"sub"})

    # ---- What a model's results were computed from

    def call(self, module, output, frame):
        if not (self.drawn or self.given) or not isinstance(output, _C.TensorBase):
            return
        calls = self.watch.calls
        made = calls.made(output) if calls is not None else None
        if made is None or not output.dim():
            return
        known = [self.origin(a) for a in self.passes.arguments if isinstance(a, _C.TensorBase)]
        of_length = [k for k in known if k is not None and _length(k) == len(output)]
        if of_length:
            of_length.sort(key=lambda k: getattr(k, "site", self) is None)  # those drawn come first
            self.outputs[id(made)] = (made, of_length[0], site_of(frame))
            if len(self.outputs) > 64:
                del self.outputs[next(iter(self.outputs))]

    def origin(self, tensor):
        """The rows that a tensor holds, or the (batch, loader) that it is; else None."""
        drawn = self.drawn.of(tensor)
        if drawn is not None:
            return drawn
        given = self.given.get(id(tensor))
        if given is not None and given[0]() is tensor:
            return tensor, given[1]
        before = self.output(tensor)
        if before is not None:
            return before[0]
        return rows.in_order(tensor, self.watch.calls) if self.drawn else None

    # ---- Where rows and labels meet

    def op(self, op):
        if not self.outputs or len(op.args) < 2:
            return
        for one, two in ((0, 1), (1, 0)) if op.name == "sub" else ((0, 1),):
            a, b = op.args[one], op.args[two]
            known = self.output(a) if isinstance(b, _C.TensorBase) else None
            if known is not None and self.output(b) is None and _varies(b):
                self.meet(known[0], self.origin(b), known[1], op)
                return

    def output(self, tensor):
        """(origin, where it was computed) of a model's result, or of rows picked from one."""
        made = self.watch.calls.made(tensor)
        if made is None:
            return None
        known = self.outputs.get(id(made))
        if known is not None:
            return known[1:]
        known = self.outputs.get(id(made.root))
        if known is None:
            return None
        _, origin, site = known
        picked = self.drawn.of(tensor)
        if picked is not None and isinstance(origin, rows.Rows):
            if picked.total != len(origin.numbers):
                return None
            origin = origin.part(origin.numbers[picked.numbers])
        return origin, site

    def meet(self, one, two, call, op):
        if isinstance(one, tuple) and isinstance(two, tuple):
            if one[1] is not two[1]:
                self.of_loaders(one, two, op.site)
        elif isinstance(one, rows.Rows) and isinstance(two, rows.Rows):
            self.judge(one, two, call, op.site, op.frame)

    def judge(self, one, two, call, site, frame):
        """Whether the rows of two sides are the same; ``call`` is where the one was computed."""
        if len(one.numbers) != len(two.numbers) or one.total != two.total:
            return
        broken = int((one.numbers != two.numbers).sum())
        if not broken:
            self.right.add(call)
        orderly = next((r for r in (one, two) if r.site is None), None)
        drawn = two if orderly is one else one
        if drawn.site is None or one.total < LEAST_ROWS or one.table == two.table:
            return
        if orderly is not None and orderly.number > drawn.number:  # it may be made from the other
            return
        key = (one.site, two.site, call, site)
        met = self.met.get(key)
        if met is None:
            table = _name_of(frame, orderly.table) if orderly is not None else None
            met = self.met[key] = _Met(one, two, site, table)
        met.pairs += len(one.numbers)
        met.broken += broken

    # ---- Loaders

    def loader(self, loader):
        """A dataset of tensors pairs its first and its last."""
        tensors = getattr(_whole(loader.dataset), "tensors", ())
        if self.drawn and len(tensors) > 1:
            one, two = self.origin(tensors[0]), self.origin(tensors[-1])
            frame = next(iter(places.user_frames()), None)
            known = isinstance(one, rows.Rows) and isinstance(two, rows.Rows)
            if known and frame is not None and _varies(tensors[-1]):
                self.judge(one, two, None, site_of(frame), frame)

    def batch(self, loader, batch):
        """Batches of one field of a loader that shuffles: labels may come from another."""
        if not isinstance(getattr(loader, "sampler", None), RandomSampler):
            return
        parts = list(places.parts_of(batch).values())
        if len(parts) == 1 and isinstance(parts[0], _C.TensorBase) and parts[0].dim():
            self.given[id(parts[0])] = (weakref.ref(parts[0]), loader)
            if len(self.given) > 16:
                del self.given[next(iter(self.given))]

    def of_loaders(self, one, two, site):
        (a, first), (b, second) = one, two
        if length_of(first.dataset) != length_of(second.dataset) or len(a) != len(b):
            return
        key = (self.loaders.made_at(first), self.loaders.made_at(second), site)
        entry = self.zipped.setdefault(key, [0, 0, first, second])
        if entry[0] < 2 * len(a):
            pairs, broken = _broken(a, first, b, second)
            entry[0] += pairs
            entry[1] += broken

    # ---- What is told

    def findings(self, doctor):
        out = []
        for (one, two, call, _), met in self.met.items():
            if met.broken >= LEAST_BROKEN * met.pairs and call not in self.right:
                out.append(self.finding(one, two, met))
        for (one, two, site), (pairs, broken, *loaders) in self.zipped.items():
            if broken and one is not None and two is not None:
                out.append(_of_two_loaders(one, two, site, pairs, broken, loaders))
        return out

    def finding(self, one, two, met):
        at = two or one
        who = "rows and labels were" if one and two else "only one of rows and labels was"
        evidence = [
            (
                f"{met.broken:,} of {met.pairs:,} rows looked at met the label of another row "
                f"(of {met.one.total:,})"
            )
        ]
        related = [(one if two else None, "the other side is shuffled here"),
                   (met.related, "rows and labels meet")]  # fmt: skip
        fixes = _one_order(one, two) if one and two else _other_side(at, met.table)
        return found(
            "rows-and-labels-apart", "wrong result", at,
            f"{who} put in {'two different orders' if one and two else 'another order'}",
            evidence, related, fixes,
        )  # fmt: skip


def _varies(labels) -> bool:
    """Whether the labels differ at all: where all are one, each row may have any of them."""
    return labels.dim() > 0 and len(labels) > 0 and bool((labels != labels[:1]).any())


def _length(origin) -> int:
    return len(origin[0]) if isinstance(origin, tuple) else len(origin.numbers)


def _name_of(frame, table: int) -> str | None:
    """What a frame calls a tensor."""
    for room in (_C._locals(frame), frame.f_globals):
        for name, value in room.items():
            if id(value) == table and isinstance(value, _C.TensorBase):
                return name
    return None


def _whole(dataset):
    while not hasattr(dataset, "tensors") and hasattr(dataset, "dataset"):
        dataset = dataset.dataset
    return dataset


def _broken(a, first, b, second) -> tuple[int, int]:
    """(rows of a batch found in their dataset, those of them beside another row's label)."""
    data, labels = (_tensor(loader.dataset) for loader in (first, second))
    if data is None or labels is None or data.shape[1:] != a.shape[1:]:
        return 0, 0
    pairs = broken = 0
    for row, label in zip(a, b, strict=True):
        at = (data == row).reshape(len(data), -1).all(1).nonzero().flatten()
        if len(at) == 1:
            pairs += 1
            broken += not bool((labels[at[0]] == label).all())
    return pairs, broken


def _tensor(dataset):
    """The one tensor that a dataset consists of."""
    if isinstance(dataset, TensorDataset) and len(dataset.tensors) == 1:
        dataset = dataset.tensors[0]
    if isinstance(dataset, (list, tuple)) and all(isinstance(v, (int, float)) for v in dataset):
        dataset = rushlight.tensor(dataset)
    small = isinstance(dataset, _C.TensorBase) and dataset.numel() <= SEARCHED
    return dataset if small else None


# ---- Fixes


def _index(site) -> ast.expr | None:
    """The node of the index that draws rows."""
    node = site.node
    if isinstance(node, ast.Subscript):
        return node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
    if isinstance(node, ast.Call):
        return changes.keyword(node, "index") or places.operand(site, 2)
    return None


def _one_order(one, two) -> list[Fix]:
    """One index for both sides, where both are drawn in one function."""
    if one.file != two.file or one.source is None:
        return []
    source, first, last = one.source, _index(one), _index(two)
    if first is None or last is None or source.function_of(first) is not source.function_of(last):
        return []
    if first.lineno > last.lineno:
        first, last = last, first
    if any(isinstance(n, ast.Call) for n in ast.walk(first)):
        name = changes.free_name(source, "perm", "order")
        line = f"{name} = {source.segment(first)}"
        begins, ends = source.statement_of(first), source.statement_of(last)
        nodes = [first, last] if ends is begins else [first]
        edits = [changes.after_line(source, begins, line, nodes, [name] * len(nodes))]
        edits += [] if ends is begins else [source.replace((last, name))]
        return [Fix(f"{line}, for both", edits)]
    text = source.segment(first)
    return [source.fix(last, text, f"{text} for both")]


def _other_side(site, table: str | None) -> list[Fix]:
    """The other side drawn by the same index, under a name of its own where it is drawn again."""
    source, index, statement = site.source, _index(site), site.statement
    if index is None or statement is None:
        return []
    if table is None or not isinstance(statement, ast.Assign) or not isinstance(index, ast.Name):
        return [Fix("index the other side with the same permutation")]
    text = source.segment(index)
    target = ast.unparse(statement.targets[0])
    drawn = ast.unparse(site.node.value) if isinstance(site.node, ast.Subscript) else ""
    if target == drawn:
        line = f"{table} = {table}[{text}]"
        return [Fix(line, [source.insert_after(statement, line)])]
    return _renamed(source, statement, table, f"{table}[{text}]")


def _renamed(source, statement, table: str, value: str) -> list[Fix]:
    """``y_drawn = y[perm]`` behind a statement, and what follows in its block uses that."""
    block = next(
        b for f in ("body", "orelse", "finalbody")
        if isinstance(b := getattr(statement.parent, f, None), list) and statement in b
    )  # fmt: skip
    uses = [
        n
        for later in block[block.index(statement) + 1 :]
        for n in ast.walk(later)
        if isinstance(n, ast.Name) and n.id == table and isinstance(n.ctx, ast.Load)
    ]
    name = f"{table}_drawn"
    line = f"{name} = {value}"
    edits = [source.insert_after(statement, line)]
    for number in sorted({n.lineno for n in uses}):
        edits.append(source.replace(*((n, name) for n in uses if n.lineno == number)))
    return [Fix(line, edits)] if uses else []


def _of_two_loaders(one, two, site, pairs, broken, loaders):
    """Each shuffles for itself: one dataset of both, and one loader."""
    evidence = [
        (
            f"{broken} of {pairs} rows looked at met the label of another row: each loader draws "
            f"an order of its own for its {len(loaders[0].dataset):,} rows"
        )
    ]
    return found(
        "rows-and-labels-apart", "wrong result", two,
        "rows and labels come from two loaders that shuffle each for itself", evidence,
        [(one, "the loader of the rows"), (site, "rows and labels meet")], _one_loader(one, two),
    )  # fmt: skip


def _one_loader(one, two) -> list[Fix]:
    source, calls = one.source, [places.call_at(s) for s in (one, two)]
    said = "one loader over TensorDataset(rows, labels)"
    if one.file != two.file or None in calls or not all(c.args for c in calls):
        return [Fix(said)]
    names = [places.bound_to(c) for c in calls]
    if not all(isinstance(n, ast.Name) for n in names):
        return [Fix(said)]
    zips = [
        n for n in ast.walk(source.tree)
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "zip"
        and [ast.unparse(a) for a in n.args] == [n_.id for n_ in names]
    ]  # fmt: skip
    loops = [next((p for p in places.around(z) if isinstance(p, ast.For)), None) for z in zips]
    inner = [n for z in loops if z is not None for n in ast.walk(z.target)]
    nested = any(isinstance(n, ast.Tuple) and len(n.elts) == 1 for n in inner)
    if not zips or None in loops or nested or isinstance(calls[0].args[0], ast.Call):
        return [Fix(said)]
    prefix = changes.prefix_for(source, "utils.data")
    known = "TensorDataset" in changes.imported(source)
    maker = "TensorDataset" if known else f"{prefix}.TensorDataset"
    text = f"{maker}({', '.join(source.segment(c.args[0]) for c in calls)})"
    edits = [source.replace((calls[0].args[0], text)), source.remove(source.statement_of(calls[1]))]
    edits += [source.replace((z, names[0].id)) for z in zips]
    return [Fix(f"one loader over {text}", edits)]
