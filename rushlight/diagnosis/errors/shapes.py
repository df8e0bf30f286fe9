"""Errors about shapes: products, layers built for another width, a flatten that is missing."""

from __future__ import annotations

import ast
import math

from rushlight import _C, nn

from .. import changes, construction, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised, reductions, try_calls

kind(
    "linear-features",
    "A Linear was built for another number of features than it gets",
    """
nn.Linear(in_features, out_features) multiplies the last dimension of its input, which must be
in_features; all dimensions before it are a batch. The error's "mat1" is the input with its leading
dimensions flattened to one, "mat2" the weight, transposed. The number is wrong where the layer is
built, or where the size that leads to it is decided: after a convolution without padding (each
loses kernel_size - 1), a pool that rounds down, or a width that one block doubles and the next
does not. Print the input's shape before the layer, or build it with nn.LazyLinear.
""",
)
kind(
    "flatten-missing",
    "A Linear got an image: the flatten before it is missing",
    """
nn.Linear works on the last dimension only. What comes out of convolutions and pools has shape
(N, C, H, W); all but the first dimension have to become one first: x.flatten(1), or nn.Flatten()
in a Sequential. (N, C * H * W) then fits a Linear built with C * H * W features.
""",
)
kind(
    "matmul-shapes",
    "The inner dimensions of a matrix product differ",
    """
a @ b needs a's last dimension to be b's last but one (b's only one, if b is a vector). Dimensions
before the last two are batches and broadcast. `.T` (of a matrix) or `.mT` (of batches) turns the
one that lies the other way; reshape would scramble it.
""",
)


@explains(
    RuntimeError, r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)"
)
def product(raised: Raised):
    """A Linear whose input has another width, or a product of two matrices."""
    modules = raised.modules()
    layer = modules[-1] if modules and isinstance(modules[-1], nn.Linear) else None
    if layer is None:
        return _matrices(raised)
    have = int(raised.match[2])
    before = _flatten(raised, layer) or _before(raised, layer)
    return before or _features(raised, layer, modules, have)


def _before(raised: Raised, layer):
    """The layer is right: what it got was reduced or viewed in another way than was meant."""
    given = _layer_frame_input(raised)
    if given is None:
        return None
    wanted = layer.in_features
    alone = _one_image(raised, given, wanted)
    if alone is not None:
        return alone
    return reductions.wrong_dimension(
        raised, given, lambda shape: len(shape) > 1 and shape[-1] == wanted
    ) or reductions.batch_lost(raised, given, wanted)


def _one_image(raised: Raised, given, wanted: int):
    """One image without a batch dimension, whose channels nn.Flatten took for samples."""
    if given.dim() != 2 or given.numel() != wanted:
        return None
    root = raised.modules()[0]
    for at in raised.frames:
        call = at.node
        if not isinstance(call, ast.Call) or upstream.value(at, call.func) is not root:
            continue
        if len(call.args) != 1 or call.keywords:
            return None
        image = upstream.value(at, call.args[0])
        if not values.is_tensor(image) or image.dim() != 3:
            return None
        text = changes.method(at.source, call.args[0], "unsqueeze(0)")
        shown = changes.with_part(at.source, call, call.args[0], text)
        return raised.finding(
            "flatten-missing",
            f"the model got one image {values.shape_of(image)} and wants a batch of images",
            (at.file, call.lineno),
            evidence=[
                f"Flatten kept {given.shape[0]} channels as samples: {values.shape_of(given)}",
                f"{given.shape[0]} * {given.shape[1]} = {wanted}, the features of one image",
            ],
            related=raised.innermost.related("the layer that failed"),
            fixes=[Fix(shown, [at.source.replace((call.args[0], text))])],
        )
    return None


def _input(raised: Raised):
    """The failing call's only argument, as node and value where both are known."""
    node = raised.innermost.node
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return None, None
    value = raised.innermost.value(node.args[0], None)
    return node.args[0], value if values.is_tensor(value) else None


def _layer_frame_input(raised: Raised):
    """What the layer itself was given: `input` of its forward."""
    traceback, given = raised.error.__traceback__, None
    while traceback is not None:
        given = traceback.tb_frame.f_locals.get("input", given)
        traceback = traceback.tb_next
    return given if values.is_tensor(given) else None


def _flatten(raised: Raised, layer):
    given = _layer_frame_input(raised)
    if given is None or given.dim() < 3 or math.prod(given.shape[1:]) != layer.in_features:
        return None
    at, (node, value) = raised.innermost, _input(raised)
    evidence = values.table(
        [
            ("input", values.describe(given), values.made_at(given) or ""),
            ("layer", values.describe_module(layer), _all_but_first(given)),
        ]
    )
    fixes = []
    if node is not None and value is given:
        text = f"{at.source.segment(node)}.flatten(1)"
        call = at.source.segment(at.node).replace(at.source.segment(node), text, 1)
        fixes.append(Fix(call, [at.source.replace((node, text))], call=call))
        return raised.finding(
            "flatten-missing", _flatten_title(given), evidence=evidence, fixes=fixes
        )
    return _flatten_in_sequential(raised, layer, given, evidence)


def _flatten_in_sequential(raised: Raised, layer, given, evidence):
    """The layer stands in a Sequential: nn.Flatten() goes before it, where it is built."""
    steps = construction.steps_to(layer)
    if not steps:
        return None
    step = steps[0]
    prefix = step.source.segment(step.call.func).rpartition("Linear")[0]
    text = f"{prefix}Flatten(), {step.source.segment(step.call)}"
    fix = Fix(text, [step.source.replace((step.call, text))])
    at = raised.innermost
    return raised.finding(
        "flatten-missing",
        _flatten_title(given),
        (step.source.file, step.line),
        evidence=evidence,
        related=at.related("the call that failed"),
        fixes=[fix],
    )


def _flatten_title(given) -> str:
    return f"Linear got {values.shape_of(given)}: its last dimension is not all features"


def _all_but_first(given) -> str:
    sizes = " * ".join(str(n) for n in given.shape[1:])
    return f"{sizes} = {math.prod(given.shape[1:])}"


def _features(raised: Raised, layer, modules, have: int):
    at = raised.innermost
    path = values.module_path(modules[0], layer) or type(layer).__name__
    changes = construction.number_changes(layer, 0, "in_features", have)
    given = _layer_frame_input(raised)
    shown = values.shape_of(given) if given is not None else f"(..., {have})"
    origin = values.made_at(given) if given is not None else None
    rows = [
        ("input", shown, f"made at {origin}" if origin else ""),
        (
            path,
            values.describe_module(layer),
            f"made at {values.place_of(_C._built(layer)[0])}" if _C._built(layer) else "",
        ),
    ]
    evidence = values.table(rows)
    evidence.append(f"in_features {layer.in_features} must equal the input's last dimension {have}")
    title = f"{path} was built for {layer.in_features} features and got {have}"
    if not changes:
        return raised.finding("linear-features", title, evidence=evidence)
    first = changes[0].step
    fixes = [
        Fix(f"{c.step.source.segment(c.step.call)} -> {c.changed_call}", [c.edit]) for c in changes
    ]
    return raised.finding(
        "linear-features",
        title,
        (first.source.file, first.line),
        evidence=evidence,
        related=at.related("the call that failed"),
        fixes=fixes,
    )


@explains(RuntimeError, r"size mismatch, got|Expected size for first two dimensions of batch2")
def other_product(raised: Raised):
    """Products of batches and vectors."""
    return _matrices(raised)


def _matrices(raised: Raised):
    """a @ b, or a function of two tensors: one of them may lie the other way."""
    at = raised.innermost
    node = at.node
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call):
        parts = list(node.args[:2])
        if isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            parts = [node.func.value, *parts]
    else:
        return None
    known = [(p, upstream.value(at, p)) for p in parts]
    if len(known) != 2 or not all(values.is_tensor(v) for _, v in known):
        return None
    texts = [at.source.segment(p) for p, _ in known]
    rows = [
        (text, values.describe(v), values.made_at(v) or "")
        for text, (_, v) in zip(texts, known, strict=True)
    ]
    fixes = []
    for part, value in reversed(known):
        turned = f"{changes.atom(at.source, part)}.{'T' if value.dim() == 2 else 'mT'}"
        if value.dim() < 2:
            continue
        edit = at.source.replace((part, turned))
        call = _with(at, part, turned)
        fixes.append(Fix(call, [edit], call=call))
    title = f"{at.text}: the inner dimensions differ"
    return raised.finding(
        "matmul-shapes", title, evidence=values.table(rows), fixes=try_calls(raised, fixes)
    )


def _with(at, part, text: str) -> str:
    """The failing expression with one part written otherwise."""
    expression = at.source.segment(at.node)
    begin = len(at.source.segment(at.node)) - len(expression)
    lines = at.source.lines
    offset = sum(len(line) + 1 for line in lines[at.node.lineno - 1 : part.lineno - 1])
    start = offset + part.col_offset - at.node.col_offset + begin
    return expression[:start] + text + expression[start + len(at.source.segment(part)) :]
