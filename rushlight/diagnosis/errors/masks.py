"""Errors of masks, dimensions and dtypes in one call: what the call itself can put right."""

from __future__ import annotations

import ast

from .. import changes, upstream, values
from ..registry import explains, kind
from . import Raised, try_calls

kind(
    "bool-arithmetic",
    "A mask of bools was subtracted or negated like a number",
    """
Comparisons give bools, and - is not defined for them: the inverse of a mask is ~mask. To compute
with it, convert it: mask.float(), 1 - mask.float().
""",
)
kind(
    "mask-shape",
    "A mask does not fit the dimensions that it selects from",
    """
x[mask] lines the mask up with x's first dimensions: a mask of n columns selects columns as
x[:, mask]. A mask of the whole shape selects single values, and the result is flat.
""",
)
kind(
    "mask-dtype",
    "A mask is no bool tensor",
    """
masked_fill, where and selecting by a mask want bools. A mask of zeros and ones is whole numbers or
floats: mask.bool(), or a comparison (mask == 0) where it is made.
""",
)
kind(
    "index-dimensions",
    "gather or scatter got an index with another number of dimensions",
    """
gather and scatter take one index for each element: an index of the same number of dimensions. For
one index per row of an (N, C) tensor that is (N, 1): index.unsqueeze(1), and squeeze(1) behind
gather.
""",
)
kind(
    "dimension-out-of-range",
    "A dimension was named that the tensor does not have",
    """
Dimensions count from 0, or from the end with -1. A tensor of two dimensions has 0 and 1. Either the
number is one too high, or a dimension is missing (no batch, a squeeze too many): look at the shape.
""",
)
kind(
    "shape-unpacked",
    "A shape was taken apart into more or fewer sizes than it has",
    """
b, c, h, w = x.shape needs four dimensions. A single image has three: give it a batch of one with
unsqueeze(0). Where any number will do, take what is needed: x.shape[-1].
""",
)
kind(
    "more-asked-than-there",
    "topk was asked for more values than a dimension has",
    """
topk and kthvalue choose among the values along one dimension, so k is at most its size: with three
classes there is no top 5. Limit it: k=min(5, scores.size(1)).
""",
)
kind(
    "in-place-dtype",
    "A result with fractions was to be written into whole numbers",
    """
x /= 255 writes into x, whose dtype stays: fractions have no room in uint8 or int64. Make a new
tensor, x = x / 255, or convert first, x = x.float().
""",
)
kind(
    "expanded-in-place",
    "A tensor whose elements share memory was written to",
    """
expand (and broadcast_to) repeats a value without copying it: many elements are one place in memory,
which cannot hold different values. Copy before writing: t.expand(...).clone(), or use repeat.
""",
)


def _changed(raised: Raised, id: str, title: str, options, evidence):
    """A finding with the failing expression's parts written otherwise: (node, text) each."""
    fixes = [raised.innermost.fix_part(node, text) for node, text in options]
    for fix in fixes:
        fix.text = fix.text.splitlines()[0]
    return raised.finding(id, title, evidence=evidence, fixes=try_calls(raised, fixes))


@explains(
    RuntimeError,
    r"(Subtraction|Negation), the `-` operator,",
)
def bools(raised: Raised):
    """``1 - mask``, ``-mask``, ``a - b``."""
    at, node = raised.innermost, raised.innermost.node
    if node is None:
        return None
    known = [k for k in upstream.tensors(at) if str(k[1].dtype) == "torch.bool"]
    if isinstance(node, ast.UnaryOp):
        held = upstream.value(at, node.operand)
        known = [(node.operand, held)] if values.is_tensor(held) else []
    if not known:
        return None
    part, mask = known[0]
    inverse = f"~{changes.atom(at.source, part)}"
    options = [(node, inverse)]
    if isinstance(node, ast.BinOp) and len(known) == 2:
        a, b = (changes.atom(at.source, p) for p in (node.left, node.right))
        options = [(node, f"{a} ^ {b}"), (node, f"{a}.float() - {b}.float()")]
    else:
        options.append((part, changes.method(at.source, part, "float()")))
    title = f"{at.text}: {at.source.segment(part)} is a mask of bools"
    return _changed(raised, "bool-arithmetic", title, options, [values.describe(mask)])


@explains(IndexError, r"The shape of the mask \[(.*?)\] at index 0 does not match the shape")
def mask_shape(raised: Raised):
    """The mask moved to the dimension that it fits."""
    at = raised.innermost
    if not isinstance(at.node, ast.Subscript):
        return None
    held, mask = upstream.value(at, at.node.value), upstream.value(at, at.node.slice)
    if not values.is_tensor(held) or not values.is_tensor(mask):
        return None
    name, text = at.source.segment(at.node.value), at.source.segment(at.node.slice)
    shape, wanted, options = tuple(held.shape), tuple(mask.shape), []
    for d in range(1, len(shape)):
        if shape[d : d + len(wanted)] == wanted:
            options.append((at.node, f"{name}[{':, ' * d}{text}]"))
    if len(wanted) == 2 and wanted[1] == 1 and wanted[0] == shape[0]:
        options.append((at.node, f"{name}[{changes.atom(at.source, at.node.slice)}.squeeze(1)]"))
    return _changed(
        raised,
        "mask-shape",
        f"{text} {wanted} does not line up with {name} {shape}",
        options,
        values.table([(name, values.describe(held)), (text, values.describe(mask))]),
    )


kind(
    "padding-as-attention-mask",
    "A mask of the padding was given as the mask of the attention",
    """
An attention mask is (steps, keys): which position may look at which, the same for all samples. A
mask of the padding is (batch, keys): which keys of each sample are filled up. MultiheadAttention
takes it as key_padding_mask, the layers of nn.Transformer as src_key_padding_mask (in a decoder:
tgt_key_padding_mask and memory_key_padding_mask). With as many samples as steps nothing raises.
""",
)

PADDING = {
    "attn_mask": "key_padding_mask",
    "mask": "src_key_padding_mask",
    "src_mask": "src_key_padding_mask",
    "tgt_mask": "tgt_key_padding_mask",
    "memory_mask": "memory_key_padding_mask",
}


@explains(
    RuntimeError,
    r"The shape of the 2D attn_mask is torch\.Size\(\[(\d+), (\d+)\]\), but should be "
    r"\((\d+), (\d+)\)",
)
def padding(raised: Raised):
    """The mask under the keyword that it is meant for."""
    at = raised.innermost
    have, wanted = (tuple(int(raised.match[i]) for i in pair) for pair in ((1, 2), (3, 4)))
    if not isinstance(at.node, ast.Call) or have[1] != wanted[1]:
        return None
    query = next((v for _, v in upstream.tensors(at) if v.dim() == 3), None)
    if query is None or have[0] not in tuple(query.shape[:2]):
        return None
    source, fixes = at.source, []
    for given in at.node.keywords:
        held = upstream.value(at, given.value)
        if given.arg not in PADDING or not values.is_tensor(held) or tuple(held.shape) != have:
            continue
        whole = f"{PADDING[given.arg]}={source.segment(given.value)}"
        fixes.append(source.fix(given, whole))
    if not at.node.keywords and len(at.node.args) == 2:  # layer(x, mask)
        part = at.node.args[1]
        whole = f"src_key_padding_mask={source.segment(part)}"
        fixes.append(source.fix(part, whole))
    return raised.finding(
        "padding-as-attention-mask",
        f"the mask is {have}, a row for each sample: that is one of the padding",
        evidence=[f"query {values.describe(query)}: an attention mask would be {wanted}"],
        fixes=fixes,
    )


@explains(
    (RuntimeError, IndexError, TypeError),
    r"only supports boolean masks|expected condition to be a boolean|expected BoolTensor"
    r"|masked_select: expected|bitwise_not|not implemented for 'Float'",
)
def mask_dtype(raised: Raised):
    """``.bool()`` where the mask is made, or where it is used."""
    at = raised.innermost
    known = [k for k in upstream.tensors(at) if str(k[1].dtype) != "torch.bool"]
    if isinstance(at.node, ast.UnaryOp):
        held = upstream.value(at, at.node.operand)
        known = [(at.node.operand, held)] if values.is_tensor(held) else []
    known = [k for k in known if bool(((k[1] == 0) | (k[1] == 1)).all())]
    if not known:
        return None
    part, mask = known[0] if upstream.called(at.node) == "where" else known[-1]
    fix = at.fix_part(part, changes.method(at.source, part, "bool()"))
    fixes = try_calls(raised, [fix])
    spot, place = upstream.of_tensor(mask), at
    if fixes and spot is not None and isinstance(spot.node, ast.Call):
        place = spot.place
        made = changes.method(spot.source, spot.node, "bool()")
        if spot.node is not part:
            fixes.insert(0, spot.fix(made))
    return raised.finding(
        "mask-dtype",
        f"{at.source.segment(part)} is {values.dtype_name(mask.dtype)}, a mask is bool",
        place,
        evidence=[f"{at.source.segment(part)} is {values.describe(mask)}"],
        related=at.related("used here"),
        fixes=fixes,
    )


@explains(RuntimeError, r"Index tensor must have the same number of dimensions as")
def index_dimensions(raised: Raised):
    """The dimensions that the index lacks."""
    at = raised.innermost
    known = upstream.tensors(at)
    whole = [k for k in known[1:] if not k[1].is_floating_point()]
    if not known or not whole:
        return None
    (_, held), (part, index) = known[0], whole[0]
    options = []
    for d in range(held.dim() - 1, -1, -1):
        options.append((part, changes.method(at.source, part, f"unsqueeze({d})")))
    if index.dim() > held.dim():
        options = [(part, changes.method(at.source, part, "squeeze()"))]
    name = at.source.segment(part)
    return _changed(
        raised,
        "index-dimensions",
        f"{name} has {index.dim()} dimensions, and {held.dim()} are wanted",
        options,
        [f"{name} is {values.describe(index)}, the other {values.describe(held)}"],
    )


@explains(
    IndexError, r"Dimension out of range \(expected to be in range of \[(-\d+), (\d+)\], but got "
    r"(-?\d+)\)"
)  # fmt: skip
def dimension(raised: Raised):
    """The number that is too high, and the last dimension there is."""
    at = raised.innermost
    if not isinstance(at.node, ast.Call):
        return None
    asked, last = int(raised.match[3]), int(raised.match[2])
    parts = (part for node in changes.given(at.node) for part in ast.walk(node))
    numbers = [part for part in parts if upstream.is_number(at, part, asked)]
    known = upstream.tensors(at)
    if not numbers or not known:
        return None
    part, tensor = known[0]
    text = "-1" if last else "0"
    name = at.source.segment(part)
    return _changed(
        raised,
        "dimension-out-of-range",
        f"{name} has {last + 1} dimensions, 0 to {last}; dimension {asked} was asked",
        [(numbers[0], text)],
        [f"{name} is {values.describe(tensor)}, made at {values.made_at(tensor) or '?'}"],
    )


@explains(ValueError, r"(not enough|too many) values to unpack \(expected (\d+)")
def unpacked(raised: Raised):
    """``b, c, h, w = x.shape`` of a tensor without a batch."""
    at = raised.innermost
    statement = at.statement
    source = at.source
    value = getattr(statement, "value", None)
    if upstream.called(value) == "size":
        value = value.func
    if not isinstance(value, ast.Attribute) or value.attr not in ("shape", "size"):
        return None
    tensor = upstream.value(at, value.value)
    if not values.is_tensor(tensor):
        return None
    wanted, name = int(raised.match[2]), source.segment(value.value)
    place, fixes = at, []
    outer = _passed(raised, at, value.value)
    if tensor.dim() == wanted - 1:
        where, node = outer or (at, None)
        if node is not None:
            text = changes.method(where.source, node, "unsqueeze(0)")
            fixes.append(where.source.fix(node, text, f"{text}: a batch of one"))
            place = where
        else:
            text = changes.method(source, value.value, "unsqueeze(0)")
            fixes.append(source.fix(value.value, text))
    elif tensor.dim() > wanted:
        goal = statement.targets[0]
        text = f"{source.segment(goal)}, *_ = {source.segment(statement.value)}"
        fixes.append(source.fix(statement, text))
    return raised.finding(
        "shape-unpacked",
        f"{name} has {tensor.dim()} dimensions, and {wanted} names wait for them",
        place,
        evidence=[f"{name} is {values.describe(tensor)}, made at {values.made_at(tensor) or '?'}"],
        related=at.related("where it is taken apart"),
        fixes=fixes,
    )


def _passed(raised: Raised, at, node):
    """The outermost frame's argument that a parameter was given: (frame, node)."""
    found = None
    for frame in reversed(raised.frames[:-1]):
        call = frame.node
        if not isinstance(call, ast.Call):
            continue
        held = upstream.value(at, node)
        for part in call.args:
            if frame.value(part, None) is held:
                found = (frame, part)
    return found


@explains(RuntimeError, r"selected index k out of range|selected number k out of range")
def topk(raised: Raised):
    """k, limited to what is there."""
    at = raised.innermost
    known = upstream.tensors(at)
    if not isinstance(at.node, ast.Call) or not known:
        return None
    part, tensor = known[0]
    name = at.source.segment(part)
    for node in changes.given(at.node):
        k = upstream.value(at, node)
        if type(k) is not int or k <= min(tensor.shape or (1,)):
            continue
        dims = [d for d in range(tensor.dim()) if tensor.shape[d] < k]
        options = [
            (node, f"min({at.source.segment(node)}, {changes.atom(at.source, part)}.size({d}))")
            for d in dims[::-1]
        ]
        title = f"{k} values were asked of {values.describe(tensor)}"
        evidence = [f"{name} has {tensor.shape[dims[-1]]} along dimension {dims[-1]}, k is {k}"]
        return _changed(raised, "more-asked-than-there", title, options, evidence)
    return None


@explains(RuntimeError, r"result type (\w+) can't be cast to the desired output type (\w+)")
def in_place(raised: Raised):
    """``x /= 255`` of bytes: a new tensor."""
    at, node = raised.innermost, raised.innermost.node
    fixes, target = [], None
    if isinstance(node, ast.AugAssign):
        target = node.target
        text = changes.out_of_place(at.source, node)
        fixes.append(at.source.fix(node, text))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        target, method = node.func.value, node.func.attr
        if not method.endswith("_"):
            return None
        call = changes.arguments(at.source, node)
        name = at.source.segment(target)
        new = f"{name}.{method[:-1]}({', '.join(call)})"
        alone = isinstance(node.parent, ast.Expr) and isinstance(target, ast.Name)
        text = f"{name} = {new}" if alone else new
        fixes.append(at.source.fix(node, text))
    held = upstream.value(at, target) if target is not None else None
    if not values.is_tensor(held):
        return None
    return raised.finding(
        "in-place-dtype",
        f"{values.dtype_name(held.dtype)} has no room for {raised.match[1].lower()} results",
        evidence=[f"{at.source.segment(target)} is {values.describe(held)}"],
        fixes=fixes,
    )


@explains(RuntimeError, r"more than one element of the written-to tensor refers to a single memory")
def expanded(raised: Raised):
    """The expand that it came from, with a copy."""
    at, node = raised.innermost, raised.innermost.node
    target = getattr(node, "target", None) or (upstream.operands(at) or [None])[0]
    tensor = upstream.value(at, target) if target is not None else None
    while target is not None and not values.is_tensor(tensor):
        target = getattr(target, "value", None)
        tensor = upstream.value(at, target) if target is not None else None
    if not values.is_tensor(tensor):
        return None
    spot, place, fixes = upstream.of_tensor(tensor), at, []
    repeats = ("expand", "expand_as", "broadcast_to")
    if spot is not None and upstream.called(spot.node) not in repeats:
        inside = [n for n in ast.walk(spot.statement) if upstream.called(n) == "expand"]
        spot = upstream.Spot(spot.source, inside[0]) if inside else None
    if spot is None and isinstance(target, ast.Name):
        spot = upstream.bound(raised, at, target)
    if spot is not None and isinstance(spot.node, ast.Call):
        place = spot.place
        text = changes.method(spot.source, spot.node, "clone()")
        fixes.append(spot.fix(text))
    name = at.source.segment(target)
    repeated = [d for d in range(tensor.dim()) if tensor.stride(d) == 0 and tensor.shape[d] > 1]
    return raised.finding(
        "expanded-in-place",
        f"{name} repeats its values without copies: they cannot be written to",
        place,
        evidence=[
            (
                f"{name} {tuple(tensor.shape)} has strides {tuple(tensor.stride())}: dimension "
                f"{', '.join(map(str, repeated)) or '?'} is one place in memory"
            )
        ],
        related=at.related("the write that failed"),
        fixes=fixes,
    )


@explains(IndexError, r"The shape of the mask \[([\d, ]+)\] at index \d+ does not match the shape")
def selecting(raised: Raised):
    """A mask at the dimension that has its size."""
    at, node = raised.innermost, raised.innermost.node
    tensor = upstream.value(at, node.value) if isinstance(node, ast.Subscript) else None
    parts = node.slice.elts if values.is_tensor(tensor) and hasattr(node.slice, "elts") else []
    parts = parts or ([node.slice] if values.is_tensor(tensor) else [])
    masks = [(p, upstream.value(at, p)) for p in parts]
    masks = [(p, m) for p, m in masks if values.is_tensor(m) and m.dim() == 1]
    if len(masks) != 1:
        return None
    (part, mask), source = masks[0], at.source
    fits = [d for d in range(tensor.dim()) if tensor.shape[d] == len(mask)]
    name, text = source.segment(node.value), source.segment(part)
    options = [(node, f"{name}[{':, ' * d}{text}]") for d in fits]
    evidence = [f"{name} is {values.describe(tensor)}, {text} has {len(mask)} values"]
    title = f"the mask has {len(mask)} values, the dimension that it stands at another size"
    return _changed(raised, "mask-shape", title, options, evidence)
