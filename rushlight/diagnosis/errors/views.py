"""Errors of view, reshape and expand: layouts, counts and sizes that do not allow them."""

from __future__ import annotations

import ast

from rushlight import _C, nn

from .. import changes, construction, decided, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised, try_calls
from .broadcast import aligned
from .heads import near

kind(
    "view-layout",
    "view cannot lay a new shape over this order in memory",
    """
view never copies, so the new shape must be a regrouping of the memory as it lies. After transpose,
permute or expand it often is not. reshape copies where it has to; contiguous().view(...) copies
always. Mind the order: after a transpose the values come in the transposed order, which is mostly
what is wanted.
""",
)
kind(
    "view-count",
    "A shape for another number of values",
    """
view and reshape keep the number of values: the product of the new sizes has to be the product of
the old ones. -1 in one place stands for what is left. Numbers written down for another image size
or batch size are the usual cause: write x.flatten(1), or x.reshape(x.shape[0], -1).
""",
)
kind(
    "expand-sizes",
    "expand can only repeat dimensions of size 1",
    """
expand shows a dimension of size 1 several times without copying; others have to keep their size
(-1 says so). New dimensions come in front. To repeat values, use repeat or repeat_interleave; to
put a dimension in the middle, unsqueeze first.
""",
)


@explains(RuntimeError, r"view size is not compatible with input tensor's size and stride")
def layout(raised: Raised):
    """reshape instead, or contiguous() before it; where the order was changed."""
    at = raised.innermost
    node = at.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    holder = node.func.value
    tensor = upstream.value(at, holder)
    if not values.is_tensor(tensor):
        return None
    ordered = tensor.contiguous().stride()
    evidence = [
        values.sentence(at.source.segment(holder), tensor),
        f"its strides are {tensor.stride()}; in row order they would be {ordered}",
    ]
    arguments = ", ".join(changes.arguments(at.source, node))
    text = changes.atom(at.source, holder)
    bytes_ = tensor.numel() * tensor.element_size()
    fixes = []
    for call, said in (
        (f"{text}.reshape({arguments})", f"copies {bytes_:,} bytes"),
        (f"{text}.contiguous().view({arguments})", "the same, said in two steps"),
    ):
        fixes.append(at.source.fix(node, call, f"{call}: {said}", call=call))
    return raised.finding(
        "view-layout",
        f"{at.text.splitlines()[0]}: the memory does not lie in that order",
        evidence=evidence,
        fixes=try_calls(raised, fixes),
    )


@explains(RuntimeError, r"shape '\[([-\d, ]*)\]' is invalid for input of size (\d+)")
def count(raised: Raised):
    """Which of the sizes does not divide what is there."""
    at = raised.innermost
    node = at.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    is_function = upstream.is_module_name(at, node.func.value)
    holder = node.args[0] if is_function else node.func.value
    given = node.args[1:] if is_function else node.args
    tensor = upstream.value(at, holder)
    if not values.is_tensor(tensor):
        return None
    sizes = [int(n) for n in raised.match[1].split(",") if n.strip()]
    parts = (
        list(given[0].elts)
        if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List))
        else list(given)
    )
    divided = _heads(raised, at, tensor, sizes, parts)
    if divided is not None:
        return divided
    product = 1
    for n in sizes:
        product *= n if n != -1 else 1
    words = " * ".join(str(n) for n in tensor.shape)
    evidence = [
        f"{at.source.segment(holder)} is {values.describe(tensor)}: {words} = {tensor.numel()}",
        f"{sizes} asks for " + (f"a multiple of {product}" if -1 in sizes else f"{product}"),
    ]
    fixes = _counted(at, node, tensor, sizes, parts, holder)
    fixes = try_calls(raised, fixes)
    both = _with_the_layer(raised, at, node, tensor, holder, product) if -1 in sizes else None
    return raised.finding(
        "view-count",
        f"{tensor.numel()} values do not fill the shape {sizes}",
        evidence=evidence,
        fixes=[both, *fixes] if both is not None else fixes,
    )


def _heads(raised: Raised, at, tensor, sizes: list[int], parts: list):
    """``view(b, t, heads, dim // heads)``: where heads that leave a rest were decided."""
    owner = _C._locals(at.frame).get("self")
    outer = (
        construction.steps_to(owner) if isinstance(owner, nn.Module) else decided.callers(raised)
    )
    if len(parts) != len(sizes):
        return None
    width = tensor.shape[-1]
    if 3 in sizes and width % 3 == 0:  # queries, keys and values side by side
        width //= 3
    for part, share in zip(parts, sizes, strict=True):
        division = decided.follow(at.source, part, outer)
        if not isinstance(getattr(division.node, "op", None), ast.FloorDiv):
            continue
        for heads in sizes:
            if heads > 1 and width // heads == share and width % heads:
                return _do_not_divide(raised, at, division, outer, width, heads)
    return None


def _do_not_divide(raised: Raised, at, division, outer: list, width: int, heads: int):
    many = decided.follow(division.source, division.node.right, outer)
    wide = decided.follow(division.source, division.node.left, outer)
    if many.keyword and wide.keyword:  # both are left to their defaults
        many = many.default or many
    fixes = [many.fix(str(n), f"{n} of width {width // n}") for n in near(width, heads)]
    written = bool(many.keyword) or getattr(many.node, "value", None) == heads
    return raised.finding(
        "heads-do-not-divide",
        f"{width} does not divide into {heads} heads",
        many.place,
        evidence=[
            f"{width} = {heads} * {width // heads} + {width % heads}",
            f"{heads} heads of {width // heads} hold {heads * (width // heads)} of {width} values",
        ],
        related=at.related("the view that failed"),
        fixes=fixes if written else [],
    )


def _with_the_layer(raised: Raised, at, node, tensor, holder, product: int):
    """``x.view(-1, n)`` before a Linear(n, ...) of a wrong n: both take what there is."""
    owners = raised.modules()
    layers = [m for o in owners[-1:] for m in o.modules() if isinstance(m, nn.Linear)]
    layer = next((m for m in layers if m.in_features == product), None)
    if layer is None or tensor.dim() < 2:
        return None
    have = tensor.numel() // tensor.shape[0]
    built = construction.number_changes(layer, 0, "in_features", have)
    if not built:
        return None
    call = f"{changes.atom(at.source, holder)}.flatten(1)"
    edits = [at.source.replace((node, call)), built[-1].edit]
    return Fix(f"{call}, and {built[-1].changed_call}", edits)


def _counted(at, node, tensor, sizes, parts, holder) -> list[Fix]:
    """Each written size in turn as what is left; the batch kept and the rest in one."""
    fixes, total = [], tensor.numel()
    text = changes.atom(at.source, holder)
    if len(sizes) == 2 and -1 in sizes and tensor.dim() > 2:
        call = f"{text}.flatten(1)"
        fixes.append(at.source.fix(node, call, f"{call}: the batch stays", call=call))
    if len(parts) != len(sizes):
        return fixes
    order = range(len(sizes))
    if sizes and tensor.dim() and sizes[0] == tensor.shape[0]:
        order = [*range(1, len(sizes)), 0]
    for i in order:
        rest = 1
        for j, n in enumerate(sizes):
            rest *= n if j != i and n != -1 else 1
        if -1 in sizes or not rest or total % rest:
            continue
        fix = at.fix_part(parts[i], "-1")
        fix.text += f": {total // rest} there"
        fixes.append(fix)
    return fixes


@explains(
    RuntimeError,
    r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\)"
    r"|the number of sizes provided \((\d+)\) must be greater or equal",
)
def expand(raised: Raised):
    """An unsqueeze that puts the repeated dimension where it is wanted."""
    at = raised.innermost
    node = at.node
    if isinstance(node, ast.Subscript):
        return _assigned(raised, at)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    holder = node.func.value
    tensor = upstream.value(at, holder)
    if not values.is_tensor(tensor):
        return None
    ways = [f"unsqueeze({d})" for d in (-1, 1, 0)] + [f"squeeze({d})" for d in range(tensor.dim())]
    ways += ["T"] if tensor.dim() == 2 else []
    fixes = [at.fix_part(holder, changes.method(at.source, holder, way)) for way in ways]
    evidence = [f"{at.source.segment(holder)} is {values.describe(tensor)}", raised.message[:76]]
    return raised.finding(
        "expand-sizes",
        f"{at.text.splitlines()[0]}: only dimensions of size 1 can be expanded",
        evidence=evidence,
        fixes=try_calls(raised, fixes)[:3],
    )


def _assigned(raised: Raised, at):
    """x[i] = value with a value of another shape."""
    statement = at.statement
    if not isinstance(statement, ast.Assign):
        return None
    place, value = upstream.value(at, at.node), upstream.value(at, statement.value)
    if not values.is_tensor(value) or not values.is_tensor(place):
        return None
    fixes = []
    have, want = tuple(value.shape), tuple(place.shape)
    ways = [
        f"squeeze({d})" for d, n in enumerate(have) if n == 1 and have[:d] + have[d + 1 :] == want
    ]
    ways += ["T"] if have[::-1] == want and len(have) == 2 else []
    ways += ["unsqueeze(-1)"] if (*have, 1) == want or len(have) + 1 == len(want) else []
    for way in ways:
        text = changes.method(at.source, statement.value, way)
        edit = at.source.replace((statement.value, text))
        fixes.append(Fix(f"{at.text} = {text}", [edit]))
    names = [at.text, at.source.segment(statement.value)]
    return raised.finding(
        "expand-sizes",
        f"{at.text} has shape {want}, the value {have}",
        evidence=aligned(names, [place, value]),
        fixes=fixes,
    )
