"""Errors of putting tensors together: cat, stack, and the batches that a loader makes."""

from __future__ import annotations

import ast
import re
import traceback

from .. import changes, frames, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised, try_calls
from .broadcast import aligned

kind(
    "collate-lengths",
    "A loader's samples have different lengths and cannot be stacked",
    """
The default collate function stacks the samples of a batch, so they have to be of one shape.
Sequences are padded to the longest of their batch: a collate_fn with
torch.nn.utils.rnn.pad_sequence(batch_first=True), which returns the lengths too where a mask or
pack_padded_sequence needs them. Images are resized or cropped to one size in the dataset.
""",
)
kind(
    "stack-sizes",
    "Tensors of different sizes were stacked or concatenated",
    """
stack makes a new dimension and wants all shapes equal; cat joins along a dimension that exists and
wants all others equal. Different lengths are joined with cat along that dimension, or padded with
pad_sequence. A tensor with a dimension less needs unsqueeze first. In a skip connection (U-Net)
the sizes differ by what pooling rounded off: crop or pad one of the two.
""",
)
kind(
    "worker-error",
    "An item failed in a loader's worker process",
    """
The traceback of the worker stands inside the message; the last line of your own code in it is
where to look. Set num_workers=0 while looking for the cause: the error is then raised in your own
process, with a debugger at hand.
""",
)


@explains(
    RuntimeError,
    r"stack expects each tensor to be equal size, but got (\[[\d, ]*\]) at entry 0 and "
    r"(\[[\d, ]*\]) at entry (\d+)",
)
def stack(raised: Raised):
    """A loader's collate, or a stack in the program."""
    batch = next((n["batch"] for n in upstream.inner_locals(raised.error) if "batch" in n), None)
    collated = "in default_collate" in raised.message or _collates(raised)
    if collated:
        return _collate(raised, batch)
    return _joined(raised)


def _collates(raised: Raised) -> bool:
    way = traceback.walk_tb(raised.error.__traceback__)
    return any(frame.f_code.co_name == "default_collate" for frame, _ in way)


def _loader(raised: Raised):
    """The loader that a user's frame iterates, and the call that made it."""
    from rushlight.utils.data import DataLoader

    held, made = None, None
    for at in reversed(raised.frames):
        if at.source is None or at.node is None:
            continue
        nodes = list(ast.walk(at.node))
        for loop in at.loops:
            nodes += ast.walk(loop.iter) if isinstance(loop, ast.For) else []
        for node in nodes:
            found = at.value(node, None) if isinstance(node, (ast.Name, ast.Attribute)) else None
            if isinstance(found, DataLoader):
                held = held or found
                spot = upstream.bound(raised, at, node)
                if spot is not None and upstream.called(spot.node) == "DataLoader":
                    return found, spot
            if upstream.called(node) == "DataLoader":
                return held, upstream.Spot(at.source, node)
    calls = upstream.calls(upstream.user_sources(raised), "DataLoader")
    held = held or next(iter(upstream.loaders(raised)), None)
    made = _call_for(calls, held)
    return held, made


def _call_for(calls: list, held):
    """Of several calls the one whose arguments fit a loader, the first where that is not known."""
    for spot in calls:
        size = changes.keyword(spot.node, "batch_size")
        if held is None or size is None or not isinstance(size, ast.Constant):
            return spot
        if size.value == held.batch_size:
            return spot
    return calls[0] if calls else None


def _collate(raised: Raised, batch):
    at = raised.innermost
    held, spot = _loader(raised)
    if spot is None:
        return None
    sample = batch[0] if batch else None
    whole = _whole_batch(raised)
    if whole:
        sample = whole[0]
    elif held is not None:
        sample = upstream.first_item(held.dataset)
    evidence = [f"samples {raised.match[1]} and {raised.match[2]} stand in one batch"]
    if whole and all(values.is_tensor(s) for s in whole):
        evidence = [
            f"a batch of {len(whole)} samples: {', '.join(values.shape_of(s) for s in whole[:6])}"
        ]
    fixes = []
    text = _padding(spot.source, sample)
    if text is not None:
        call = changes.with_keyword(spot.source, spot.node, "collate_fn", text)
        edits = [spot.source.replace((spot.node, call))]
        fixes.append(Fix("collate_fn: pad_sequence to the longest of the batch", edits))
    return raised.finding(
        "collate-lengths",
        "the samples have different lengths: a collate_fn has to pad them",
        spot.place,
        evidence=evidence,
        related=at.related("the batch that failed"),
        fixes=fixes,
    )


def _whole_batch(raised: Raised):
    """The samples that the outermost collate was given."""
    found = None
    for names in upstream.inner_locals(raised.error):
        batch = names.get("batch")
        found = batch if isinstance(batch, (list, tuple)) and batch else found
    return found


def _padding(source, sample) -> str | None:
    """A collate function as text: sequences padded, the rest collated as before."""
    torch = changes.torch_name(source)
    pad = f"{torch}.nn.utils.rnn.pad_sequence"
    usual = f"{torch}.utils.data.default_collate"
    if values.is_tensor(sample):
        return f"lambda items: {pad}(items, batch_first=True)"
    if isinstance(sample, (tuple, list)):
        parts = [
            f"{pad}([item[{i}] for item in items], batch_first=True)"
            if values.is_tensor(part) and part.dim() > 0
            else f"{usual}([item[{i}] for item in items])"
            for i, part in enumerate(sample)
        ]
        return f"lambda items: ({', '.join(parts)})"
    if isinstance(sample, dict):
        parts = [
            f'"{key}": {pad}([item["{key}"] for item in items], batch_first=True)'
            if values.is_tensor(part) and part.dim() > 0
            else f'"{key}": {usual}([item["{key}"] for item in items])'
            for key, part in sample.items()
        ]
        return f"lambda items: {{{', '.join(parts)}}}"
    return None


# ---- cat and stack in the program


@explains(
    RuntimeError,
    r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got "
    r"size (\d+) for tensor number (\d+)"
    r"|Tensors must have same number of dimensions: got (\d+) and (\d+)",
)
def cat(raised: Raised):
    """The tensors of a cat with their shapes, and the dimension along which they fit."""
    return _joined(raised)


def _joined(raised: Raised):
    at = raised.innermost
    node = at.node
    if not isinstance(node, ast.Call) or not node.args:
        return None
    given = upstream.value(at, node.args[0])
    if not isinstance(given, (list, tuple)) or not all(values.is_tensor(t) for t in given):
        return None
    tensors, argument = list(given), node.args[0]
    names = [f"[{i}]" for i in range(len(tensors))]
    if isinstance(argument, (ast.List, ast.Tuple)) and len(argument.elts) == len(tensors):
        names = [at.source.segment(e) for e in argument.elts]
    evidence = aligned(names[:5], tensors[:5])
    fixes = [*_along(at, node, tensors), *_one_more(at, node, tensors), *_padded(at, node, tensors)]
    fixes += _resized(at, node, tensors)
    first = at.text.splitlines()[0]
    return raised.finding(
        "stack-sizes",
        f"{first if len(first) < 50 else upstream.called(node)}: the sizes differ",
        evidence=evidence,
        fixes=try_calls(raised, fixes),
    )


def _along(at, node, tensors) -> list[Fix]:
    """cat along the one dimension in which the shapes differ."""
    ranks = {t.dim() for t in tensors}
    if len(ranks) != 1:
        return []
    differ = [d for d in range(ranks.pop()) if len({t.shape[d] for t in tensors}) > 1]
    if len(differ) != 1:
        return []
    func = at.source.segment(node.func)
    name = upstream.called(node)
    joined = re.sub(r"\bstack$", "cat", func) if name == "stack" else func
    text = f"{joined}({at.source.segment(node.args[0])}, dim={differ[0]})"
    return [at.source.fix(node, text, call=text)]


def _one_more(at, node, tensors) -> list[Fix]:
    """A dimension of size 1 for the tensor that has one less."""
    argument = node.args[0]
    if not isinstance(argument, (ast.List, ast.Tuple)) or len(argument.elts) != len(tensors):
        return []
    most = max(t.dim() for t in tensors)
    short = [(e, t) for e, t in zip(argument.elts, tensors, strict=True) if t.dim() < most]
    if len(short) != 1:
        return []
    part = short[0][0]
    ways = (changes.method(at.source, part, f"unsqueeze({d})") for d in range(most))
    return [at.fix_part(part, text) for text in ways]


def _resized(at, node, tensors) -> list[Fix]:
    """Of two maps whose heights or widths differ a little, the smaller brought to the larger."""
    argument = node.args[0]
    listed = isinstance(argument, (ast.List, ast.Tuple)) and len(argument.elts) == 2
    if not listed or len(tensors) != 2 or {t.dim() for t in tensors} != {4}:
        return []
    a, b = tensors
    if a.shape[0] != b.shape[0] or a.shape[2:] == b.shape[2:]:
        return []
    small, large = (0, 1) if a.shape[2:].numel() < b.shape[2:].numel() else (1, 0)
    names = [at.source.segment(e) for e in argument.elts]
    whole = changes.torch_name(at.source)
    size = f"{changes.atom(at.source, argument.elts[large])}.shape[2:]"
    text = f"{whole}.nn.functional.interpolate({names[small]}, size={size})"
    said = f"{names[small]} resized to {names[large]}"
    return [at.fix_part(argument.elts[small], text, said)]


def _padded(at, node, tensors) -> list[Fix]:
    if upstream.called(node) != "stack" or len({t.shape[1:] for t in tensors}) != 1:
        return []
    torch = changes.torch_name(at.source)
    text = f"{torch}.nn.utils.rnn.pad_sequence({at.source.segment(node.args[0])}, batch_first=True)"
    return [at.source.fix(node, text, call=text)]


# ---- Workers


@explains(Exception, r"^Caught (\w+) in DataLoader worker process (\d+)\.")
def worker(raised: Raised):
    """The last line of the user's own in the worker's traceback."""
    lines = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', raised.message)
    own = [(f, int(n), name) for f, n, name in lines if frames.is_user_path(f)]
    at = raised.innermost
    last = raised.message.strip().splitlines()[-1]
    evidence = [f"worker {raised.match[2]}: {last}"]
    if not own:
        return raised.finding(
            "worker-error", f"a loader's worker failed: {last}", evidence=evidence
        )
    file, line, name = own[-1]
    return raised.finding(
        "worker-error",
        f"{name} failed in a loader's worker: {last}",
        (file, line),
        evidence=[*evidence, f"raised in {name}, {values.line_of(file, line)}"],
        related=at.related("the loop that wanted the batch"),
    )
