"""Data that are split into rows to train on and rows to validate on."""

from __future__ import annotations

import ast
import re
from typing import ClassVar

from ... import changes, upstream
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..loaders import Recent, length_of
from ..places import found
from .datasets import _tensors

kind(
    "validation-overlaps-training",
    "A model is validated on rows that it is trained with",
    """
A validation tells how a model does on rows that it has not seen. Rows that are in both sets, from
slices or ranges that overlap, from two calls of random_split that each draw anew, or because both
loaders have one dataset, make the number better than it is, and overfitting does not show. Split
once, and give each part to one loader.
""",
)

VALIDATING = {"val", "valid", "validation", "test", "testing", "dev", "holdout", "heldout"}
TRAINING = {"train", "training", "fit"}
MOST_VALUES = 1_000_000  # of rows that are compared by what they hold
LEAST_SHARE = 0.02  # of the validation's rows, where they are compared by what they hold


@check
class Overlap(Check):
    kinds = ("validation-overlaps-training",)
    needs: ClassVar = {"*": ("loader", 2, "fewer than 2 passes over a DataLoader")}

    def start(self, doctor):
        self.made_at, self.used, self.current = doctor.loaders.made_at, Recent(), None
        self.phase, self.steps = 0, 0
        watch = doctor.watch
        watch.on("loader", self.loader)
        watch.on("batch", self.batch)
        watch.on("stepped", self.stepped)
        watch.on("call", self.call)
        watch.on("optimizer", self.begun)
        watch.on("load_state_dict", self.begun)

    def begun(self, *_):
        """Another training begins: what was trained before has no part in it."""
        self.phase += bool(self.steps)
        self.steps = 0

    def loader(self, loader):
        site = places.here()
        self.current = self.used.entry((self.phase, id(loader)), lambda: [loader, 0, 0, site])

    def batch(self, loader, batch):
        self.current = self.used.get((self.phase, id(loader)))

    def stepped(self, optimizer):
        self.steps += 1
        if self.current is not None:
            self.current[1] += 1

    def call(self, module, output, frame):
        if self.current is not None:
            self.current[2] += 1

    def findings(self, doctor):
        out, told = [], set()
        for (phase, _), (valid, steps, calls, loop) in self.used.items():
            if steps or not calls or id(valid) in told:
                continue
            for (when, _), (train, trained, _, _) in self.used.items():
                if when == phase and trained:
                    finding = self.compare(train, valid, loop)
                    if finding is not None:
                        told.add(id(valid))
                        out.append(finding)
                        break
        return out

    def compare(self, train, valid, loop):
        shared = _shared(train, valid)
        if shared is None:
            return None
        count, rows, all_rows, how = shared
        sites = [self.made_at(loader) for loader in (train, valid)]
        calls = [places.call_at(site) if site is not None else None for site in sites]
        if not count or None in calls:
            return None
        if count == min(rows, all_rows) and not _says_validation(sites[1].source, calls[1], loop):
            return None  # rows of the training looked at on purpose
        evidence = [
            (
                f"{count:,} of {rows:,} rows of the validation ({count / rows:.0%}) are among the "
                f"{all_rows:,} rows of the training, {how}"
            )
        ]
        parts = [_Part(site.source, call) for site, call in zip(sites, calls, strict=True)]
        node, fixes = _fault(*parts)
        if rows == count == all_rows and not fixes:
            return None  # there is no other part that could be validated on
        at, other = parts[1], parts[0].call
        if node in ast.walk(parts[0].call) or node is parts[0].node:
            at, other = parts[0], parts[1].call
        role = "what it is validated on" if at is parts[0] else "what it is trained with"
        return found(
            "validation-overlaps-training", "wrong number", (at.source.file, node.lineno),
            "the model is validated on rows that it is trained with", evidence,
            [((at.source.file, other.lineno), role)], fixes,
        )  # fmt: skip


# ---- Which rows two loaders have in common


def _shared(train, valid):
    """(rows in both, rows of the validation, of the training, how that is known), or None."""
    sets = [_indices(loader) for loader in (train, valid)]
    if None in sets:
        return None
    (base, first), (other, second) = sets
    if base is other:
        return len(first & second), len(second), len(first), "by their indices"
    if isinstance(base, list) and isinstance(other, list):
        ids = [
            {id(b[i]) for i in s if not isinstance(b[i], (int, float, str, bytes, type(None)))}
            for b, s in sets
        ]
        return len(ids[0] & ids[1]), len(ids[1]), len(ids[0]), "the same objects"
    tensors = [_rows_of(dataset) for dataset, _ in sets]
    if any(t is None for t in tensors) or tensors[0].shape[1:] != tensors[1].shape[1:]:
        return None
    keys = [_addresses(t, s) for t, (_, s) in zip(tensors, sets, strict=True)]
    same_memory = len({t.untyped_storage().data_ptr() for t in tensors}) == 1
    if same_memory and None not in keys and tensors[0].stride() == tensors[1].stride():
        return len(keys[0] & keys[1]), len(second), len(first), "in the same memory"
    keys = [_values(t, s) for t, (_, s) in zip(tensors, sets, strict=True)]
    if None in keys or len(set(keys[0])) < 0.99 * len(keys[0]):
        return None  # rows that repeat of themselves tell nothing
    both = set(keys[0])
    count = sum(key in both for key in keys[1])
    if count < max(2, LEAST_SHARE * len(second)):
        return None
    return count, len(second), len(first), "equal in every value"


def _indices(loader):
    """(what holds a loader's samples, the indices that it may read), or None where not known."""
    from rushlight.utils.data import RandomSampler, SequentialSampler, Subset, SubsetRandomSampler

    dataset, sampler = loader.dataset, getattr(loader, "sampler", None)
    rows = length_of(dataset)
    if loader.batch_size is None or rows is None or rows > MOST_VALUES:
        return None
    if type(sampler) is SubsetRandomSampler:
        indices = [int(i) for i in sampler.indices]
    elif type(sampler) in (RandomSampler, SequentialSampler):
        indices = range(rows)
    else:
        return None
    while type(dataset) is Subset:
        indices = [int(dataset.indices[i]) for i in indices]
        dataset = dataset.dataset
    return dataset, set(indices)


def _rows_of(dataset):
    """The tensor that holds a dataset's rows: the first, or the largest of its attributes."""
    size = length_of(dataset)
    tensors = [t for _, t in _tensors(dataset) if t.dim() > 1 and len(t) == size]
    if not tensors or tensors[0].device.type != "cpu":
        return None
    return tensors[0] if hasattr(dataset, "tensors") else max(tensors, key=lambda t: t.numel())


def _addresses(tensor, indices: set):
    step = tensor.stride(0) * tensor.element_size()
    return {tensor.data_ptr() + i * step for i in indices} if step else None


def _values(tensor, indices: set):
    """The rows at indices as tuples; None where they say too little to be told apart."""
    rows = tensor.detach().flatten(1)
    width = min(rows.shape[1], 64)
    if rows.shape[1] < 4 or not rows.is_floating_point() or len(indices) * width > MOST_VALUES:
        return None
    if bool((rows[:100, :width] == rows[:100, :width].round()).all()):
        return None
    kept = rows[:, :: rows.shape[1] // width][:, :width].tolist()
    return [tuple(kept[i]) for i in sorted(indices)]


# ---- What the source says


class _Part:
    """The rows that a loader gets, as the source chooses them, behind the names they have."""

    def __init__(self, source, call):
        self.source, self.call = source, call
        self.given = call.args[0] if call.args else changes.keyword(call, "dataset")
        self.node = _behind(source, self.given) or self.given
        self.bounds = [b for b in map(_bounds, self._choosing()) if b is not None]

    def _choosing(self):
        """The parts of an expression, and what its names were given."""
        parts = list(ast.walk(self.node)) if self.node is not None else []
        behind = [_behind(self.source, n) for n in parts if isinstance(n, ast.Name)]
        return [*parts, *(n for n in behind if n is not None)]

    @property
    def split(self):
        """The statement ``a, b = random_split(...)`` that the rows come from, or None."""
        if called(self.node) != "random_split" or not isinstance(self.given, ast.Name):
            return None
        return self.source.statement_of(self.node)


def _behind(source, node):
    """What a name was given last before it is read, in its function or at the top of the file."""
    if not isinstance(node, ast.Name):
        return None
    for scope in dict.fromkeys((source.function_of(node), None)):
        before = node.lineno if scope is source.function_of(node) else 1 << 30
        statement = source.last_assignment(node.id, before, scope)
        if statement is not None:
            spot = upstream.part_bound(upstream.Spot(source, statement), node.id)
            value = spot.node if spot is not None else None
            return _behind(source, value) or value if value is not node else None
    return None


def _bounds(node):
    """(a slice or range, of what, its lower bound, its upper one), or None of other expressions."""
    if isinstance(node, ast.Subscript):
        index = node.slice
        index = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
        if isinstance(index, ast.Slice) and index.step is None and (index.lower or index.upper):
            return node, ast.unparse(node.value), index.lower, index.upper
    if called(node) == "range" and 1 <= len(node.args) <= 2:
        return node, "range", node.args[0] if len(node.args) == 2 else None, node.args[-1]
    return None


def _fault(train, valid) -> tuple[ast.expr, list[Fix]]:
    """The expression that chooses rows which the other part has, and changes of it."""
    source = valid.source
    for one, of, lower, _ in valid.bounds:
        for _, other, first, upper in train.bounds:
            if of == other and lower is not None and upper is not None and first is None:
                text = train.source.segment(upper)
                same = [b[2] for b in valid.bounds if b[2] is not None and ast.unparse(b[2]) ==
                        ast.unparse(lower)]  # fmt: skip
                return one, [Fix(f"from {text} on", [source.replace(*((n, text) for n in same))])]
    if valid.bounds and not train.bounds and train.node is not None and train.source is source:
        rest = _rest(train, valid)
        if rest is not None:
            return train.node, [rest]
    splits = [part.split for part in (train, valid)]
    if None not in splits and splits[0] is not splits[1]:
        return valid.node, _split_once(source, *splits, train, valid)
    if train.given is not None and ast.unparse(train.given) == ast.unparse(valid.given):
        return valid.call, _other_part(source, valid)
    return valid.bounds[0][0] if valid.bounds else valid.call, []


def _rest(train, valid) -> Fix | None:
    """What a training takes as a whole, without the part that validates."""
    cut = {}
    for _, of, lower, upper in valid.bounds:
        if (lower is None) != (upper is None):
            segment = valid.source.segment(lower or upper)
            cut.setdefault(of, f"{of}[:{segment}]" if lower is not None else f"{of}[{segment}:]")
    wholes = [n for n in ast.walk(train.node) if isinstance(n, ast.expr) and ast.unparse(n) in cut]
    if not wholes:
        return None
    edit = train.source.replace(*((n, cut[ast.unparse(n)]) for n in wholes))
    return Fix(cut[ast.unparse(wholes[0])], [edit])


def _split_once(source, first, second, train, valid) -> list[Fix]:
    """The names that two calls of random_split bind, from the first of them."""
    names = [getattr(s.targets[0], "elts", []) for s in (first, second)]
    texts = [[ast.unparse(n) for n in each] for each in names]
    mine, others = valid.given.id, train.given.id
    if len(texts[0]) != len(texts[1]) or mine not in texts[1] or others not in texts[0]:
        return []
    at = texts[1].index(mine)
    if texts[0].index(others) == at:
        return []
    edits = [source.replace((names[0][at], mine)), source.remove(second)]
    return [Fix("one split for both", edits)]


def _other_part(source, valid) -> list[Fix]:
    """Another name beside the dataset's that says it is there for validation."""
    scope = source.function_of(valid.call)
    for node in ast.walk(scope or source.tree):
        if not isinstance(node, ast.Assign) or node.lineno >= valid.call.lineno:
            continue
        for name in (n for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)):
            words = _words(name.id)
            if words & VALIDATING and not words & TRAINING and called(node.value) != "DataLoader":
                is_set = words & {"set", "ds", "data", "dataset", "subset"} or len(words) == 1
                if is_set:
                    return [source.fix(valid.given, name.id)]
    return []


def _says_validation(source, call, loop) -> bool:
    """Whether names around a loader's making and its loop say that it is there to validate."""
    said, node = [], call
    while node is not None and not isinstance(node, ast.stmt):
        if isinstance(node, ast.keyword):
            said.append(node.arg or "")
        node = node.parent
    if isinstance(node, ast.Assign):
        said += [ast.unparse(t) for t in node.targets]
    statement = loop.statement if loop is not None else None
    if isinstance(statement, ast.For):
        said.append(ast.unparse(statement.iter))
    words = set().union(*map(_words, said)) if said else set()
    return bool(words & VALIDATING) and not words & TRAINING


def _words(text: str) -> set[str]:
    return {w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text)}
