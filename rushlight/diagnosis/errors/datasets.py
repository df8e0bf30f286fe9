"""Errors of datasets: items that are None, a length that is too long, options that exclude."""

from __future__ import annotations

import ast

from rushlight import _C
from rushlight.utils.data import Dataset

from .. import changes, construction, trial, upstream, values
from ..registry import explains, kind
from . import Raised

kind(
    "sample-is-none",
    "A dataset gave None for a sample",
    """
The default collate function stacks tensors; it cannot stack None. Return another sample for one
that cannot be read, drop bad ones when the dataset is made, or leave them out in a collate_fn.
""",
)
kind(
    "dataset-too-long",
    "A dataset's __len__ promises more samples than __getitem__ can give",
    """
A loader asks for the indices 0 to len(dataset) - 1. Where a sample needs what follows it (a window
and its next value, a pair), the last positions have none: the length is that much shorter.
""",
)
kind(
    "sampler-and-shuffle",
    "A DataLoader has both a sampler and shuffle=True",
    """
A sampler says in which order samples come; shuffle=True would say it, too. Leave shuffle out where
a sampler is given: WeightedRandomSampler and RandomSampler draw at random already.
""",
)


kind(
    "labels-are-text",
    "A dataset gives text for a label, and the loss wants numbers",
    """
The default collate function cannot put text into a tensor: a batch's labels stay a list of strings.
Number the classes where the dataset is made, classes = {name: i for i, name in
enumerate(sorted(set(names)))}, and give classes[name]; text of digits is a number by int().
""",
)


@explains(TypeError, r"argument '\w+' \(position \d+\) must be Tensor, not (tuple|list)")
def text_labels(raised: Raised):
    """The part of __getitem__'s result that is text, as a number."""
    at = raised.innermost
    given = next(
        (
            held
            for part in upstream.operands(at)
            if isinstance(held := at.value(part, None), (tuple, list))
            and held
            and all(isinstance(t, str) for t in held)
        ),
        None,
    )
    if given is None:
        return None
    for dataset in upstream.datasets(raised):
        for spot in upstream.returned(getattr(type(dataset), "__getitem__", None)):
            sample = upstream.first_item(dataset)
            parts = getattr(spot.node, "elts", getattr(spot.node, "values", []))
            sample = list(sample.values()) if isinstance(sample, dict) else sample
            if not isinstance(sample, (tuple, list)) or len(sample) != len(parts):
                continue
            texts = [p for p, v in zip(parts, sample, strict=True) if isinstance(v, str)]
            if len(texts) != 1:
                continue
            digits = all(t.strip().lstrip("-").isdigit() for t in given)
            text = f"int({spot.source.segment(texts[0])})"
            return raised.finding(
                "labels-are-text",
                f"{type(dataset).__name__} gives text for labels, and the loss wants numbers",
                spot.place,
                evidence=[f"the batch's {len(given)} labels are text, the first {given[0]!r}"[:78]],
                related=at.related("the loss that got them"),
                fixes=[spot.source.fix(texts[0], text)] if digits else [],
            )
    return None


@explains(
    TypeError,
    r"expected Tensor as element \d+ in argument 0, but got NoneType|found <class 'NoneType'>",
)
def nothing(raised: Raised):
    """The return None of __getitem__, and a collate function without such samples."""
    at = raised.innermost
    held = [n["self"] for n in upstream.inner_locals(raised.error) if "self" in n]
    known = [o.dataset for o in held if hasattr(o, "dataset")] or upstream.datasets(raised)
    dataset = next(iter(known), None)
    found = upstream.definition(getattr(type(dataset), "__getitem__", None))
    if found is None or isinstance(found[1], ast.Lambda):
        return None
    source, function = found
    ends = (n for n in ast.walk(function) if isinstance(n, ast.Return))
    empty = [n for n in ends if upstream.gives_nothing(n)]
    place = (source.file, empty[0].lineno if empty else function.body[-1].end_lineno)
    fixes = []
    for spot in upstream.calls(upstream.user_sources(raised), "DataLoader")[:1]:
        torch = changes.torch_name(spot.source)
        collate = (
            f"lambda items: {torch}.utils.data.default_collate([i for i in items if i is not None])"
        )
        text = changes.with_keyword(spot.source, spot.node, "collate_fn", collate)
        fixes.append(spot.fix(text, "a collate_fn that leaves them out"))
    return raised.finding(
        "sample-is-none",
        f"{type(dataset).__name__}.__getitem__ gave None",
        place,
        evidence=[f"{raised.message.splitlines()[0][:70]}; {len(empty)} return of None in it"],
        related=at.related("the loop that got it"),
        fixes=fixes,
    )


@explains((IndexError, RuntimeError, TypeError), r"out of (range|bounds)|stack expects|NoneType")
def too_long(raised: Raised):
    """__getitem__ failed for an index that __len__ promises: the length that all indices bear."""
    at = next(
        (f for f in reversed(raised.frames) if f.function.endswith("__getitem__")), raised.frames[0]
    )
    dataset = _C._locals(at.frame).get("self")
    if not isinstance(dataset, Dataset) or not isinstance(raised.error, IndexError):
        return None
    index = _index(at)
    size = len(dataset)
    if index is None or not 0 <= index < size or _bears(dataset, index) or index < size - 64:
        return None
    good = next((n for n in range(index - 1, max(-1, size - 65), -1) if _bears(dataset, n)), None)
    ends = upstream.returned(type(dataset).__len__)
    if good is None or len(ends) != 1:
        return None
    spot, less = ends[0], size - good - 1
    named = [n for n, v in vars(dataset).items() if type(v) is int and v == less and n[0] != "_"]
    text = f"{changes.atom(spot.source, spot.node)} - {f'self.{named[0]}' if named else less}"
    return raised.finding(
        "dataset-too-long",
        f"len() is {size}, and samples {good + 1} to {size - 1} cannot be made",
        spot.place,
        evidence=[f"{type(dataset).__name__}[{good}] is the last that works, {less} fail"],
        related=at.related("the index that failed"),
        fixes=[spot.fix(text, f"return {text}")],
    )


def _index(at):
    code = at.frame.f_code
    names = code.co_varnames[: code.co_argcount]
    held = _C._locals(at.frame).get(names[1]) if len(names) > 1 else None
    return held if type(held) is int else None


def _bears(dataset, index: int) -> bool:
    return bool(trial.apart(lambda: bool([dataset[index]])))


@explains(ValueError, r"sampler option is mutually exclusive with (shuffle)")
def excluding(raised: Raised):
    """The call without shuffle."""
    at = raised.innermost
    if upstream.called(at.node) != "DataLoader":
        return None
    shuffle = construction.argument(at.node, 2, "shuffle")
    if shuffle is None or changes.keyword(at.node, "shuffle") is None:
        return None
    text = changes.without_keyword(at.source, at.node, "shuffle")
    sampler = upstream.value(at, changes.keyword(at.node, "sampler"))
    return raised.finding(
        "sampler-and-shuffle",
        "a sampler and shuffle=True both say the order",
        (at.file, at.node.lineno),
        evidence=[f"sampler is {values.describe(sampler)}, 1 of the 2 has to go"],
        fixes=[at.fix(text, "without shuffle")],
    )
