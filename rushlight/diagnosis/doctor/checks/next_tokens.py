"""Language models that are given as labels what they see already, or not the next token."""

from __future__ import annotations

import ast
import math
from typing import ClassVar

import rushlight
from rushlight import _C
from rushlight.utils.data import TensorDataset

from ... import changes, upstream
from ...frames import called
from ...registry import Check, check, kind
from .. import cuts, places
from ..calls import site_of, user_frame
from ..causal import Given, arguments_of, is_one, own_token_seen, tensors_of
from ..passes import CLASS_LOSSES
from ..places import found

kind(
    "labels-not-shifted",
    "A language model's labels are not the next tokens",
    """
A causal language model sees the tokens up to a position, that one included, and is to say the next:
the scores at position t belong to token t + 1. With the tokens themselves as labels it learns to
copy its input, the loss falls to zero, and it can not write. Take logits[:, :-1] and ids[:, 1:], or
let the data hand out ids[:-1] and ids[1:]; do it once, in one of the two places, and not the other
way round. Models that shift the labels themselves want labels=ids.
""",
)

LEAST = 40  # labels that are compared
# By how far labels are moved on from the tokens at their scores' positions; 1 is right.
TITLES = {
    0: ("labels are the tokens that the model sees: it learns to copy", "at their own positions"),
    -1: ("labels are moved the wrong way", "before theirs"),
    2: ("labels are moved twice: no position is to say the next token", "two after theirs"),
}
# What only hands scores on in another form: names of graph nodes.
FORMS = frozenset(
    "View UnsafeView Reshape ReshapeAlias Clone Slice Transpose Permute T Alias Unsqueeze Squeeze "
    "ToCopy LogSoftmax".split()
)


class Fit:
    """How labels stand to tokens: they are the tokens ``moved`` after those of their scores.

    The scores begin at position ``start``; time is dimension ``axis`` of the tokens.
    """

    def __init__(self, given, moved, start, axis, equal, counted):
        self.given, self.moved, self.start, self.axis = given, moved, start, axis
        self.equal, self.counted = equal, counted


class Uses:
    """What the calls of one loss were given; ``fit`` is that of the last wrong one.

    ``made`` is (place, fixes) of what makes labels apart from tokens, ``twice`` the site of a call
    that gives tokens twice, with the two arguments; ``shapes`` are of scores and labels.
    """

    def __init__(self):
        self.calls = self.looked = self.wrong = self.equal = self.counted = 0
        self.fit = self.made = self.twice = self.shapes = None
        self.losses = []


@check
class NextTokens(Check):
    kinds = ("labels-not-shifted",)
    needs: ClassVar = {"*": (f"op {' '.join(CLASS_LOSSES)}", 3, "no loss over classes was seen")}

    def start(self, doctor):
        self.seen, self.batch = {}, None
        self.given, self.results = [], {}  # of the pass that runs; by its results' graph nodes
        doctor.watch.on("op", self.op, {*CLASS_LOSSES, "embedding", "one_hot"})
        doctor.watch.on("call", self.call)
        doctor.watch.on("batch", self.handed_on)
        doctor.watch.on("stepped", self.stepped)

    def handed_on(self, loader, batch):
        self.batch = (loader, batch)

    def stepped(self, optimizer):
        """Batches are not held longer than the program needs them."""
        self.given, self.results = [], {}

    def call(self, module, output, frame):
        if self.given:
            for result in tensors_of(output):
                if result.grad_fn is not None:
                    self.results[result.grad_fn._sequence_nr()] = self.given
            self.results = dict(list(self.results.items())[-4:])
            self.given = []

    def op(self, op):
        if op.name not in CLASS_LOSSES:
            tokens = next((a for a in op.args if _is_whole(a) and a.dim() == 2), None)
            if tokens is not None:
                self.given = [*self.given[-3:], Given(tokens)]
            return
        scores, labels = op.argument(0, "input"), op.argument(1, "target")
        if not _is_whole(labels) or not op.result.requires_grad:
            return
        uses = self.seen.setdefault(op.site, Uses())
        uses.calls += 1
        if uses.calls <= 8 or uses.calls % 16 == 0:
            self.look(op, uses, scores, labels)

    def look(self, op, uses, scores, labels):
        ignored = getattr(op.module, "ignore_index", op.argument(4, "ignore_index", -100))
        nodes = _forms(scores)
        known = (self.results.get(node._sequence_nr()) for node in nodes)
        given = next(filter(None, known), self.given)
        fits = [_fit(one, nodes, scores, labels, ignored) for one in given]
        fits = [fit for fit in fits if fit is not None]
        uses.looked += 1
        if not fits or any(fit.moved == 1 for fit in fits):
            return
        fit = fits[0]
        if uses.fit is None:
            if fit.moved == 0:
                uses.made = self.made(op, labels, fit)
                uses.twice = _given_twice(op.frame, fit.given)
            uses.shapes = (tuple(scores.shape), tuple(labels.shape))
        uses.fit = fit
        uses.wrong += 1
        uses.equal += fit.equal
        uses.counted += fit.counted
        if op.result.dim() == 0:
            uses.losses.append(float(op.result.detach()))

    # ---- Where the labels come from

    def made(self, op, labels, fit):
        """(place, fixes) of what makes labels apart from tokens; None where they are one tensor."""
        loader, batch = self.batch or (None, ())
        fields = places.parts_of(batch)
        keys = [
            next((k for k, v in fields.items() if is_one(v, t)), None)
            for t in (fit.given.tokens, labels)
        ]
        origins = [_C._origin(fields[k]) for k in keys if k is not None]
        if len(origins) == 2 and keys[0] != keys[1] and origins[0] == origins[1]:
            return _in_dataset(loader.dataset, *keys)
        return self.made_at(op, labels, fit.given)

    def made_at(self, op, labels, given):
        """The same of labels that the user's own lines made, beside the tokens."""
        name, tokens = _name_of_labels(places.call_at(op.site)), upstream.of_tensor(given.tokens)
        named = _C._locals(op.frame).get(name)
        for value in (named, given.arguments.get(name), *given.arguments.values()):
            spot = upstream.of_tensor(value) if is_one(value, labels) else None
            if spot is None or tokens is None or value is given.tokens or spot.node is tokens.node:
                continue
            fix = cuts.moved_on(spot.source, spot.node)
            only_form = fix is None and (
                called(spot.node) in cuts.FLATTENING or is_one(value, given.tokens)
            )
            if not only_form and spot.place != places.place(op.site):
                return spot.place, [fix] if fix is not None else []
        return None

    # ---- Findings

    def findings(self, doctor):
        out = []
        for site, uses in self.seen.items():
            fit = uses.fit
            if uses.wrong < 3 or uses.wrong < uses.looked or uses.counted < LEAST:
                continue
            for axis in dict.fromkeys((fit.axis, 1 - fit.axis if fit.moved == 0 else fit.axis)):
                seen = own_token_seen(fit.given, axis, fit.start)
                if seen is not None:
                    fit.axis = axis
                    out.append(self.finding(site, uses, seen))
                    break
        return out

    def finding(self, site, uses, seen):
        fit, at, fixes, call = uses.fit, site, [], places.call_at(site)
        title, whose = TITLES[fit.moved]
        if uses.made is not None:
            at, fixes = uses.made
        elif uses.twice is not None:
            at, pair = uses.twice
            front, back = cuts.ends(fit.axis)  # the loss may want a view of the labels
            fixes = [cuts.pair_of_one(at.source, pair, (front, f"{back}.contiguous()"))]
        if call is not None:
            fixes = [*fixes, _at_the_loss(site.source, call, uses)]
        evidence = [
            f"{uses.equal:,} of {uses.counted:,} labels looked at are the tokens {whose}",
            seen,
        ]
        if len(uses.losses) > 1:
            evidence.append(f"the loss went from {uses.losses[0]:.3g} to {uses.losses[-1]:.3g}")
        return found(
            "labels-not-shifted", "wrong result", at, title, evidence,
            [(site, "the loss")] if at is not site else [],
            [fix for fix in fixes if fix is not None],
        )  # fmt: skip


def _is_whole(value) -> bool:
    return isinstance(value, _C.TensorBase) and value.dtype in (rushlight.int64, rushlight.int32)


def _name_of_labels(call) -> str:
    """``y`` of ``cross_entropy(scores, y.view(-1))``."""
    node = call.args[1] if call is not None and len(call.args) > 1 else None
    return getattr(cuts.base_of(node), "id", "")


# ---- How labels stand to tokens


def _forms(scores) -> list:
    """The graph nodes from scores back to what they are only another form of."""
    node, nodes = scores.grad_fn, []
    while node is not None and len(nodes) < 16:
        nodes.append(node)
        if node.name().partition("Backward")[0] not in FORMS:
            break
        node = node.next_functions[0][0]
    return nodes


def _start(nodes, dims) -> int | None:
    """The position that the first scores are of: where slices along a dimension begin."""
    start = 0
    for node in nodes:
        if node.name().startswith("SliceBackward") and node._saved_dim in dims:
            if node._saved_step != 1 or node._saved_start < 0:
                return None
            start += node._saved_start
    return start


def _fit(given, nodes, scores, labels, ignored) -> Fit | None:
    """By how far labels are moved on from the tokens at their scores' positions, if they are."""
    for axis in (1, 0):
        tokens = given.tokens if axis else given.tokens.t()
        rows, total = tokens.shape
        count = labels.numel() // max(rows, 1)
        if rows * count != labels.numel() or count not in (total, total - 1) or count < 3:
            continue
        if labels.dim() == 2 and tuple(labels.shape) != ((rows, count) if axis else (count, rows)):
            continue
        table = labels.reshape(rows, count) if axis else labels.reshape(count, rows).t()
        start = _start(nodes, (axis, 2) if scores.dim() == 3 else (axis,))
        for moved in (1, 0, -1, 2) if start is not None else ():
            first = start + moved
            if (moved == -1 and start != 1) or (moved == 2 and (start or count == total)):
                continue
            a, b = max(first, 0), min(first + count, total)
            mine, theirs = table[:, a - first : b - first], tokens[:, a:b]
            kept = mine != ignored
            counted, equal = int(kept.sum()), int((kept & (mine == theirs)).sum())
            if counted and equal >= 0.98 * counted and len(mine[kept].unique()) > 2:
                return Fit(given, moved, start, axis, equal, counted)
    return None


# ---- Changes that help


def _given_twice(frame, given):
    """(site, arguments) of ``model(ids, ids)``, or of a function that was called so."""
    caller = site_of(user_frame(frame.f_back))
    for site, arguments in ((given.site, given.arguments), (caller, arguments_of(frame))):
        call = places.call_at(site) if site is not None else None
        if call is None or sum(is_one(v, given.tokens) for v in arguments.values()) < 2:
            continue
        parts = changes.given(call)
        same = [[p for p in parts if ast.unparse(p) == ast.unparse(q)] for q in parts]
        pair = next((p for p in same if len(p) == 2), None)
        if pair is not None:
            return site, pair
    return None


def _at_the_loss(source, call, uses):
    fit = uses.fit
    if fit.moved == 2:
        return cuts.without_slices(source, call)
    if fit.moved == -1:
        return cuts.other_slices(source, call, (True, True))
    labels = math.prod(uses.shapes[1])
    if labels < fit.given.tokens.numel():  # one position less: cut already, at the same end
        return cuts.other_slices(source, call, (fit.start == 1, fit.start == 0))
    return cuts.shifted(source, call, uses.shapes, fit.axis)


def _in_dataset(dataset, x, y):
    """(place, fixes) of what a dataset hands out as labels."""
    dataset = upstream.whole_dataset(dataset)
    if isinstance(dataset, TensorDataset):
        return _of_tensors(dataset, x, y)
    for spot in upstream.returned(type(dataset).__getitem__):
        parts = _parts(spot.node, (x, y))
        if parts is None:
            continue
        fix = cuts.pair_of_one(spot.source, parts, cuts.ends(0))
        if fix is not None:
            return spot.place, [fix]
        scope, part = spot.source.function_of(spot.node), parts[1]
        if isinstance(part, ast.Name):
            made = spot.source.last_assignment(part.id, spot.line, scope)
            part = getattr(made, "value", part)
        fix = cuts.moved_on(spot.source, part)
        return (spot.file, part.lineno), [fix] if fix else []
    return None


def _parts(node: ast.expr, keys):
    """The expressions at some keys of what is returned, a tuple or a dictionary."""
    if isinstance(node, ast.Tuple) and all(k in range(len(node.elts)) for k in keys):
        return [node.elts[k] for k in keys]
    if isinstance(node, ast.Dict):
        known = {getattr(k, "value", None): v for k, v in zip(node.keys, node.values, strict=True)}
        return [known[k] for k in keys] if all(k in known for k in keys) else None
    return None


def _of_tensors(dataset, x, y):
    given, labels = dataset.tensors[x], dataset.tensors[y]
    spot = upstream.of_tensor(labels)
    if is_one(given, labels):
        for call in upstream.calls(upstream.program_sources(), "TensorDataset"):
            if len(call.node.args) > max(x, y):
                fix = cuts.pair_of_one(
                    call.source, [call.node.args[k] for k in (x, y)], cuts.ends(1)
                )
                if fix is not None:
                    return call.place, [fix]
    fix = cuts.moved_on(spot.source, spot.node) if spot is not None else None
    return (spot.place, [fix] if fix else []) if spot is not None else None
