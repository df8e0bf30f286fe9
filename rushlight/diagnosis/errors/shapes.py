"""Errors about shapes: products, layers built for another width, a flatten that is missing."""

from __future__ import annotations

import ast
import math

from rushlight import _C, nn

from .. import changes, construction, upstream, values
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
    return before or _features(raised, layer, have)


def _before(raised: Raised, layer):
    """The layer is right: what it got was reduced or viewed in another way than was meant."""
    given = _layer_input(raised)
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
        return raised.finding(
            "flatten-missing",
            f"the model got one image {values.shape_of(image)} and wants a batch of images",
            (at.file, call.lineno),
            evidence=[
                f"Flatten kept {given.shape[0]} channels as samples: {values.shape_of(given)}",
                f"{given.shape[0]} * {given.shape[1]} = {wanted}, the features of one image",
            ],
            related=raised.innermost.related("the layer that failed"),
            fixes=[upstream.Spot(at.source, call).fix_part(call.args[0], text)],
        )
    return None


def _input(raised: Raised):
    """The failing call's only argument, as node and value where both are known."""
    node = raised.innermost.node
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return None, None
    value = raised.innermost.value(node.args[0], None)
    return node.args[0], value if values.is_tensor(value) else None


def _layer_input(raised: Raised):
    """What the layer itself was given."""
    given = upstream.inner(raised.error, "input")
    return given if values.is_tensor(given) else None


def _flatten(raised: Raised, layer):
    given = _layer_input(raised)
    if given is None or given.dim() < 3 or math.prod(given.shape[1:]) != layer.in_features:
        return None
    at, (node, value) = raised.innermost, _input(raised)
    evidence = values.table(
        [
            ("input", values.describe(given), values.made_at(given) or ""),
            ("layer", values.describe_module(layer), _all_but_first(given)),
        ]
    )
    if node is not None and value is given:
        fix = at.fix_part(node, changes.method(at.source, node, "flatten(1)"))
        title = _flatten_title(given)
        return raised.finding("flatten-missing", title, evidence=evidence, fixes=[fix])
    return _flatten_in_sequential(raised, layer, given, evidence)


def _flatten_in_sequential(raised: Raised, layer, given, evidence):
    """The layer stands in a Sequential: nn.Flatten() goes before it, where it is built."""
    steps = construction.steps_to(layer)
    if not steps:
        return None
    step = steps[0]
    prefix = step.source.segment(step.call.func).rpartition("Linear")[0]
    text = f"{prefix}Flatten(), {step.source.segment(step.call)}"
    fix = step.source.fix(step.call, text)
    at = raised.innermost
    return raised.finding(
        "flatten-missing",
        _flatten_title(given),
        step.place,
        evidence=evidence,
        related=at.related("the call that failed"),
        fixes=[fix],
    )


def _flatten_title(given) -> str:
    return f"Linear got {values.shape_of(given)}: its last dimension is not all features"


def _all_but_first(given) -> str:
    sizes = " * ".join(str(n) for n in given.shape[1:])
    return f"{sizes} = {math.prod(given.shape[1:])}"


def _features(raised: Raised, layer, have: int):
    path, given = raised.path_of(layer), _layer_input(raised)
    shown = values.shape_of(given) if given is not None else f"(..., {have})"
    made, built = values.made_at(given), values.place_of(next(iter(_C._built(layer)), None))
    evidence = values.table(
        [
            ("input", shown, f"made at {made}" if made else ""),
            (path, values.describe_module(layer), f"made at {built}" if built else ""),
        ]
    )
    evidence.append(f"in_features {layer.in_features} must equal the input's last dimension {have}")
    title = f"{path} was built for {layer.in_features} features and got {have}"
    found = construction.number_changes(layer, 0, "in_features", have)
    return raised.number("linear-features", title, found, "the call that failed", evidence)


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
    fixes = [
        at.fix_part(part, changes.method(at.source, part, "T" if value.dim() == 2 else "mT"))
        for part, value in reversed(known)
        if value.dim() > 1
    ]
    title = f"{at.text}: the inner dimensions differ"
    return raised.finding(
        "matmul-shapes", title, evidence=values.table(rows), fixes=try_calls(raised, fixes)
    )
