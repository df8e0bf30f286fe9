"""Errors of elementwise operations: sizes that do not line up, branches that change size."""

from __future__ import annotations

import ast

from rushlight import nn

from .. import changes, construction, frames, upstream, values
from ..finding import Fix, shortened
from ..registry import explains, kind
from . import Raised, reductions, try_calls

kind(
    "broadcast-shapes",
    "Two operands do not line up",
    """
Elementwise operations line shapes up from the right: each pair of dimensions has to be equal, or
one of them 1, or missing. (8, 3) and (8,) do not line up, since 3 stands above 8; (8, 3) and (8,
1) do. Put the missing dimension where it belongs with unsqueeze or [:, None]; where a matrix lies
the other way, transpose it. That an expression runs does not make it right: look at the shape of
what comes out.
""",
)
kind(
    "residual-size",
    "A branch changes the size of what it is added to",
    """
In x + branch(x) the branch has to keep x's shape. A stride of 2 halves it, a convolution without
padding takes kernel_size - 1 from each side length, out_channels other than in_channels change the
channels. Keep the size in the branch (stride 1, padding=kernel_size // 2), or give the skip path
the same change: a 1x1 convolution with that stride and those channels.
""",
)


@explains(
    RuntimeError,
    r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton "
    r"dimension (\d+)",
)
def broadcast(raised: Raised):
    """The operands aligned, and what would line them up."""
    at = raised.innermost
    if at.source is None or at.node is None:
        return None
    masked = _attention_mask(raised, at)
    if masked is not None:
        return masked
    known = upstream.tensors(at)[:2]
    if len(known) < 2:
        return _inside_a_loss(raised, at)
    (left, a), (right, b) = known
    texts = [at.source.segment(left), at.source.segment(right)]
    evidence = aligned(texts, [a, b])
    branch = _drawn(raised, at, known, evidence) or _branch(raised, at, a, b, evidence)
    branch = branch or _reduced(raised, a, b)
    if branch is not None:
        return branch
    fixes = []
    for part, tensor, other in ((right, b, a), (left, a, b)):
        for method in _ways(tuple(tensor.shape), tuple(other.shape)):
            text = changes.method(at.source, part, method)
            fix = at.fix_part(part, text)
            if isinstance(at.node, ast.AugAssign):
                if part is left:
                    continue
                fix.call = f"{texts[0]} + {text}"
            fixes.append(fix)
    sized = _made_with_size(raised, at, known)
    if sized is not None and not fixes:
        spot, fix, title = sized
        return raised.finding(
            "broadcast-shapes",
            title,
            spot.place,
            evidence=evidence,
            fixes=[fix],
            related=at.related("the operation that failed"),
        )
    first = at.text.splitlines()[0]
    return raised.finding(
        "broadcast-shapes",
        f"{first}: {raised.match[1]} and {raised.match[2]} do not line up",
        evidence=evidence,
        fixes=try_calls(raised, fixes),
    )


def _reduced(raised: Raised, a, b):
    """One operand lost another dimension than the one that would leave the other's shape."""
    for one, other in ((a, b), (b, a)):
        found = reductions.wrong_dimension(raised, one, tuple(other.shape).__eq__)
        if found is not None:
            return found
    return None


def _attention_mask(raised: Raised, at):
    """A mask of (batch, keys) for scores of (batch, heads, queries, keys)."""
    if frames.called(at.node) != "scaled_dot_product_attention":
        return None
    node = construction.argument(at.node, 3, "attn_mask")
    key = upstream.inner(raised.error, "key")
    if key is None and len(at.node.args) > 1:
        key = upstream.value(at, at.node.args[1])
    mask = upstream.value(at, node) if node is not None else None
    if not values.is_tensor(mask) or not values.is_tensor(key):
        return None
    if mask.dim() != 2 or tuple(mask.shape) != (key.shape[0], key.shape[-2]):
        return None
    text = changes.atom(at.source, node) + ("[:, None, None, :]" if key.dim() == 4 else "[:, None]")
    fix = at.fix_part(node, text, text)
    return raised.finding(
        "broadcast-shapes",
        "the mask says which keys of each sample count, and has no place for heads and queries",
        evidence=[
            f"mask {values.describe(mask)}: (batch, keys)",
            f"the scores have {'heads and ' if key.dim() == 4 else ''}queries between those two",
        ],
        fixes=try_calls(raised, [fix]),
    )


def aligned(names: list[str], tensors: list) -> list[str]:
    """Shapes under each other from the right, with a mark under what disagrees."""
    names = [shortened(n, 34) for n in names]
    shapes = [[str(n) for n in t.shape] for t in tensors]
    rank = max(map(len, shapes))
    shapes = [[""] * (rank - len(s)) + s for s in shapes]
    widths = [max(len(s[d]) for s in shapes) for d in range(rank)]
    name = max(map(len, names))
    out = []
    for text, shape, tensor in zip(names, shapes, tensors, strict=True):
        sizes = "  ".join(n.rjust(w) for n, w in zip(shape, widths, strict=True))
        made = values.made_at(tensor)
        out.append(f"{text.ljust(name)}   {sizes}" + (f"   made at {made}" if made else ""))
    marks = []
    for d in range(rank):
        sizes = {s[d] for s in shapes} - {"", "1"}
        marks.append(("^" * widths[d] if len(sizes) > 1 else "").rjust(widths[d]))
    out.append(f"{' ' * name}   {'  '.join(marks)}".rstrip())
    return out


def _inside_a_loss(raised: Raised, at):
    """The operands are known to the library's frames only: a loss of two shapes."""
    given, target = upstream.inner(raised.error, "input"), upstream.inner(raised.error, "target")
    if not values.is_tensor(given) or not values.is_tensor(target):
        return None
    return raised.finding(
        "broadcast-shapes",
        f"{at.text.splitlines()[0]}: the shapes do not line up",
        evidence=aligned(["input", "target"], [given, target]),
    )


def _fits(a: tuple, b: tuple) -> tuple | None:
    """The broadcast shape, None where there is none."""
    out = []
    for d in range(1, max(len(a), len(b)) + 1):
        m, n = (a[-d] if d <= len(a) else 1), (b[-d] if d <= len(b) else 1)
        if m != n and 1 not in (m, n):
            return None
        out.append(max(m, n))
    return tuple(reversed(out))


def _ways(shape: tuple, other: tuple) -> list[str]:
    """Methods after which a shape lines up with the other without growing it."""
    options = []
    for d in range(len(shape)):
        if shape[d] == 1:
            options.append((f"squeeze({d})", shape[:d] + shape[d + 1 :]))
    for d in range(len(shape) + 1):
        at = d if d < len(shape) else -1
        options.append((f"unsqueeze({at})", (*shape[:d], 1, *shape[d:])))
    if len(shape) == 2:
        options.append(("T", shape[::-1]))
    if len(shape) > 2:
        for i in range(len(shape)):
            for j in range(i + 1, len(shape)):
                turned = list(shape)
                turned[i], turned[j] = turned[j], turned[i]
                options.append((f"transpose({i}, {j})", tuple(turned)))
    if len(shape) == 1 and len(other) > 1:
        for d in range(len(other)):
            if other[d] == shape[0]:
                sizes = ["1"] * len(other)
                sizes[d] = "-1"
                new = tuple(shape[0] if i == d else 1 for i in range(len(other)))
                options.append((f"view({', '.join(sizes)})", new))
    found = []
    for text, new in options:
        both = _fits(new, other)
        if both is not None and _count(both) == max(_count(shape), _count(other)):
            found.append(text)
    return found[:3]


def _count(shape: tuple) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


# ---- Numbers drawn beside a layer's result


def _drawn(raised: Raised, at, known, evidence):
    """``eps = torch.randn(n, 10)`` of the same function, for a result that has another size."""
    for (part, tensor), (other, result) in (known, known[::-1]):
        spot = upstream.of_tensor(tensor)
        alike = tensor.dim() == result.dim() and tensor.is_leaf and not tensor.requires_grad
        if spot is None or not alike or result.grad_fn is None or spot.file != at.file:
            continue
        if at.source.function_of(spot.node) is not at.source.function_of(at.node):
            continue
        differ = [d for d in range(tensor.dim()) if tensor.shape[d] != result.shape[d]]
        size = _size_argument(spot.node, tensor.dim(), differ[0], ast.Constant)
        named = [n for n in ast.walk(other) if isinstance(n, ast.Name)]
        same = [n.id for n in named if _has_shape(at, n, result) and _is_bound_before(at, n, spot)]
        if size is None or len(differ) > 1 or not same:
            continue
        d = differ[0]
        text = f"{same[0]}.shape[{d}]"
        name, have = at.source.segment(part), tensor.shape[d]
        return raised.finding(
            "broadcast-shapes",
            f"{name} was made with size {have}, and {same[0]} has {result.shape[d]}",
            spot.place,
            evidence=evidence,
            related=at.related("the operation that failed"),
            fixes=[spot.fix_part(size, text)],
        )
    return None


def _has_shape(at, name: ast.Name, tensor) -> bool:
    held = at.value(name, None)
    return values.is_tensor(held) and held.shape == tensor.shape


def _is_bound_before(at, name: ast.Name, spot) -> bool:
    return at.source.last_assignment(name.id, spot.line, at.source.function_of(at.node)) is not None


# ---- A branch that changes size


def _branch(raised: Raised, at, a, b, evidence):
    """Modules of the block whose forward fails, and the arguments that change the size."""
    owner = next((m for m in reversed(raised.modules()) if not values.is_ours(type(m))), None)
    if owner is None or a.dim() != b.dim() or a.dim() < 2:
        return None
    differ = [d for d in range(a.dim()) if a.shape[d] != b.shape[d]]
    layers = [m for m in owner.modules() if m is not owner and construction.steps_to(m)]
    found = []
    for layer in layers:
        found += _size_changes(layer, a, b, differ)
    if not found:
        return None
    found.sort(key=lambda f: f[0])
    _, layer, change, said = found[0]
    path = values.module_path(owner, layer)
    fixes = {c.edit: c.fix for _, _, c, _ in reversed(found)}
    fixes = list(reversed(fixes.values()))
    together = _all_of(found)
    if together is not None:
        fixes.insert(1, together)
    return raised.finding(
        "residual-size",
        f"self.{path} changes the size, and the other operand keeps it",
        change.step.place,
        evidence=[*evidence, f"self.{path} {values.describe_module(layer)}: {said}"],
        related=at.related("the two are put together"),
        fixes=fixes,
    )


def _all_of(found) -> Fix | None:
    """Several layers lose size by the same missing padding: all of them get it."""
    same = [(layer, c) for rank, layer, c, _ in found if rank == found[0][0]]
    lines = {c.edit.line for _, c in same}
    if len(same) < 2 or len(lines) != len(same):
        return None
    return Fix(f"the same in all {len(same)} layers", [c.edit for _, c in same])


def _pair(value, d: int) -> int | None:
    if isinstance(value, (tuple, list)):
        value = value[d] if d < len(value) else value[-1]
    return value if isinstance(value, int) else None


def _size_changes(layer, a, b, differ) -> list[tuple]:
    """(rank, layer, change, reason): stride, padding and channels that explain a difference."""
    found = []
    spatial = [d for d in differ if d >= 2]
    if hasattr(layer, "stride") and spatial:
        d = spatial[0]
        big, small = max(a.shape[d], b.shape[d]), min(a.shape[d], b.shape[d])
        stride = _pair(layer.stride, d - 2)
        if stride is not None and stride > 1 and abs(big - small * stride) <= stride + 2:
            position = 3 if isinstance(layer, nn.modules.conv._ConvNd) else 1
            for c in _argument_changes(layer, position, "stride", "1"):
                found.append((0, layer, c, f"stride {stride} makes {big} to {small}"))
        kernel, padding = _pair(layer.kernel_size, d - 2), layer.padding
        lost = None
        if kernel is not None and not isinstance(padding, str):
            spread = _pair(getattr(layer, "dilation", 1), d - 2) * (kernel - 1)
            lost = spread - 2 * _pair(padding, d - 2)
            if lost and stride == 1 and spread % 2 == 0 and big != small:
                said = f"kernel_size {kernel} with padding {_pair(padding, d - 2)}: {lost} less"
                for c in _argument_changes(layer, 4, "padding", str(spread // 2)):
                    found.append((1, layer, c, said))
    is_channel = 1 if a.dim() > 2 else a.dim() - 1
    channels = [d for d in differ if d == is_channel or d == a.dim() - 1]
    for name, position in (("out_channels", 1), ("out_features", 1)):
        size = getattr(layer, name, None)
        if size is None or not channels:
            continue
        d = is_channel if name == "out_channels" else a.dim() - 1
        if d not in differ or size not in (a.shape[d], b.shape[d]):
            continue
        wanted = b.shape[d] if size == a.shape[d] else a.shape[d]
        for c in construction.number_changes(layer, position, name, wanted):
            found.append((2, layer, c, f"{name} is {size}, the other operand has {wanted}"))
    return found


def _argument_changes(layer, position: int, name: str, text: str) -> list:
    """An argument of a layer's call changed, or added where it is left to its default."""
    steps = construction.steps_to(layer)
    if not steps:
        return []
    node = construction.argument(steps[0].call, position, name)
    if node is None:
        step = steps[0]
        text = changes.with_keyword(step.source, step.call, name, text)
        return [construction.Change(step, step.call, text)]
    found = []
    for depth, step in enumerate(steps):
        if node is None:
            break
        found.insert(0, construction.Change(step, node, text))
        parameter = construction.passed_on(step, node)
        if parameter is None or depth + 1 == len(steps):
            break
        node = construction.argument(steps[depth + 1].call, *parameter)
    return found[:2]


def _size_argument(node: ast.AST, rank: int, place: int, kinds=(ast.Name, ast.Attribute)):
    """The size of one dimension in ``zeros(1, n, d)``, somewhere within an expression."""
    makes = {"zeros", "ones", "randn", "rand", "empty", "full"}
    for part in ast.walk(node):
        if upstream.called(part) not in makes or not part.args:
            continue
        sizes = part.args
        if isinstance(sizes[0], (ast.Tuple, ast.List)):
            sizes = sizes[0].elts
        if len(sizes) == rank and isinstance(sizes[place], kinds):
            return sizes[place]
    return None


def _made_with_size(raised: Raised, at, known):
    """A parameter or constant made with the wrong number: the number in the call that made it."""
    (_, a), (_, b) = known
    for (node, tensor), other in zip(known, (b, a), strict=True):
        spot = upstream.of_tensor(tensor)
        if spot is None or not isinstance(spot.node, ast.Call) or tensor.grad_fn is not None:
            continue
        if not tensor.is_leaf or not isinstance(node, ast.Attribute):
            continue
        for d in range(1, min(tensor.dim(), other.dim()) + 1):
            have, want = tensor.shape[-d], other.shape[-d]
            if have == want or 1 in (have, want):
                continue
            title = f"{at.source.segment(node)} was made with size {have}, it meets {want}"
            numbers = [
                n
                for n in ast.walk(spot.node)
                if isinstance(n, ast.Constant) and n.value == have and type(n.value) is int
            ]
            if not numbers:
                size = _size_argument(spot.node, tensor.dim(), tensor.dim() - d)
                if size is not None:
                    text = spot.source.segment(size)
                    text = f"{text} + {want - have}" if 0 < want - have < 4 else str(want)
                    return spot, spot.fix_part(size, text), title
            if len(numbers) == 1:
                return spot, spot.fix_part(numbers[0], str(want)), title
    return None
