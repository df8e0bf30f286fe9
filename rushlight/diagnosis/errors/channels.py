"""Errors of convolutions and pools: channels, groups, kernels that are larger than the image."""

from __future__ import annotations

import ast
import math

from rushlight import nn

from .. import changes, construction, decided, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised, try_calls
from .heads import divisors, near
from .widths import wrong_number

kind(
    "conv-channels",
    "A convolution was built for another number of channels than it gets",
    """
A convolution reads (N, C, H, W): C has to be its in_channels. The number is wrong where the layer
is built (it has to be the out_channels of the one before), or the image lies otherwise: images
from files are (H, W, C) and need permute(2, 0, 1), grey images need a dimension for their one
channel (unsqueeze(1)).
""",
)
kind(
    "conv-groups",
    "Channels cannot be divided into that many groups",
    """
groups splits input and output channels into equal parts, so both have to be multiples of it. A
depthwise convolution has groups=in_channels and out_channels a multiple of that.
""",
)
kind(
    "kernel-too-large",
    "A kernel is larger than the image that reaches it",
    """
Each pool halves the image and each convolution without padding takes kernel_size - 1 from it.
After enough of them nothing is left. Feed larger images, take fewer pools, or pad.
""",
)


@explains(
    RuntimeError,
    r"Given (?:groups=(\d+)|transposed=\d+), weight of size \[([\d, ]+)\], expected "
    r"input\[([\d, ]+)\] to have (\d+) channels, but got (\d+) channels instead",
)
def channels(raised: Raised):
    """An image that lies otherwise, or in_channels decided at another line."""
    given, layer = upstream.inner(raised.error, "input"), raised.layer
    at = raised.innermost
    wanted, have = int(raised.match[4]), int(raised.match[5])
    if not isinstance(layer, nn.modules.conv._ConvNd) or not values.is_tensor(given):
        return None
    path = raised.path_of(layer)
    evidence = values.table(
        [
            ("input", values.describe(given), values.made_at(given) or ""),
            (path, values.describe_module(layer), f"in_channels {layer.in_channels}"),
        ]
    )
    fixes = _other_layout(raised, at, given, wanted)
    if fixes:
        return raised.finding(
            "conv-channels",
            f"the image has its channels elsewhere: {values.shape_of(given)}",
            evidence=evidence,
            fixes=fixes,
        )
    return wrong_number(
        raised,
        layer,
        "conv-channels",
        (0, "in_channels"),
        have,
        f"{path} was built for {wanted} channels and got {have}",
        evidence,
    )


def _other_layout(raised: Raised, at, given, wanted: int) -> list[Fix]:
    """(N, H, W, C), (H, W, C) and (N, H, W): the method that brings the channels to their place."""
    node = at.node
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return []
    shown = upstream.value(at, node.args[0])
    if not values.is_tensor(shown) or shown.shape[-1:] != given.shape[-1:]:
        return []
    options = []
    if given.dim() == 3 and given.shape[-1] == wanted and raised.match[2].count(",") == 2:
        options = ["transpose(1, 2)"]
    elif given.dim() == 4 and given.shape[-1] == wanted and given.grad_fn is None:
        options = ["permute(0, 3, 1, 2)"]
    elif shown.dim() == 3 and shown.shape[-1] == wanted:
        options = ["permute(2, 0, 1)"]
    elif shown.dim() == 3 and wanted == 1:
        options = ["unsqueeze(1)"]
    return _after_argument(raised, at, options)


def _after_argument(raised: Raised, at, methods) -> list[Fix]:
    """Methods behind the failing call's first argument, those with which it passes."""
    part = at.node.args[0]
    fixes = [at.fix_part(part, changes.method(at.source, part, m)) for m in methods]
    return try_calls(raised, fixes)


@explains(
    (RuntimeError, ValueError),
    r"Expected (\d)D \(unbatched\) or (\d)D \(batched\) input to conv|expected (\d)D",
)
def rank(raised: Raised):
    """A missing batch or channel dimension before a convolution or a BatchNorm."""
    at, node = raised.innermost, raised.innermost.node
    given = upstream.inner(raised.error, "input")
    other = _other_rank(raised, given) if values.is_tensor(given) else None
    if other is not None:
        return other
    if not isinstance(node, ast.Call) or not node.args or not values.is_tensor(given):
        return None
    methods = ("unsqueeze(1)", "unsqueeze(0)", "unsqueeze(0).unsqueeze(0)", "unsqueeze(-1)")
    return raised.finding(
        "conv-channels",
        f"the layer got {values.shape_of(given)}: a dimension is missing",
        evidence=[f"input {values.describe(given)}"],
        fixes=_after_argument(raised, at, methods),
    )


def _other_rank(raised: Raised, given):
    """A BatchNorm2d where the data are rows: the class was chosen where it is built."""
    layer, at = raised.layer, raised.innermost
    fitting = {2: "1d", 3: "1d", 4: "2d", 5: "3d"}.get(given.dim())
    name = type(layer).__name__
    known = name.startswith(("BatchNorm", "InstanceNorm")) and fitting is not None
    if not known or name.endswith(fitting) or given.shape[1] != layer.num_features:
        return None
    spot = upstream.of_module(layer)
    if spot is None or name not in spot.source.segment(spot.node.func):
        return None
    text = changes.another(spot.source, spot.node.func, name[:-2] + fitting)
    fixes = [spot.source.fix(spot.node.func, text, f"{name[:-2]}{fitting}")]
    return raised.finding(
        "layer-width",
        f"{name} got {values.shape_of(given)}: {name[:-2]}{fitting} is for that",
        spot.place,
        evidence=[f"input {values.describe(given)}, {given.shape[1]} channels in dimension 1"],
        related=at.related("the call that failed"),
        fixes=fixes,
    )


# ---- Groups


@explains(ValueError, r"(in_channels|out_channels) must be divisible by groups")
def groups(raised: Raised):
    """The groups that would divide both."""
    at, node = raised.innermost, raised.innermost.node
    names = {k: upstream.inner(raised.error, k) for k in ("in_channels", "out_channels", "groups")}
    if not isinstance(node, ast.Call) or not all(isinstance(v, int) for v in names.values()):
        return None
    first, second, count = names.values()
    fixes = []
    given = construction.argument(node, 6, "groups")
    if given is not None:
        most = max(g for g in divisors(math.gcd(first, second)) if g <= count)
        fixes.append(
            at.source.fix(given, str(most), f"groups={most}: divides {first} and {second}")
        )
    wrong, size = (0, first) if raised.match[1] == "in_channels" else (1, second)
    argument = construction.argument(node, wrong, raised.match[1])
    if argument is not None:
        whole = -(-size // count) * count
        said = f"{raised.match[1]} {whole}: a multiple of {count}"
        fixes.append(at.source.fix(argument, str(whole), said))
    evidence = [f"in_channels {first}, out_channels {second}, groups {count}"]
    return raised.finding(
        "conv-groups",
        f"{size} {raised.match[1]} do not split into {count} groups",
        evidence=evidence,
        fixes=fixes,
    )


@explains(ValueError, r"must be divisible by num_groups")
def group_norm(raised: Raised):
    """The nearest number of groups that divides a GroupNorm's channels."""
    at, call = raised.innermost, raised.innermost.node
    if upstream.called(call) != "GroupNorm":
        return None
    many = construction.argument(call, 0, "num_groups")
    wide = construction.argument(call, 1, "num_channels")
    count, channels = (upstream.value(at, n) if n is not None else None for n in (many, wide))
    if type(count) is not int or type(channels) is not int or count < 1:
        return None
    decision = decided.follow(at.source, many, decided.callers(raised))
    decision = (decision.keyword and decision.default) or decision  # left to its default
    return raised.finding(
        "conv-groups",
        f"GroupNorm: {channels} channels do not split into {count} groups",
        decision.place,
        evidence=[f"{channels} = {count} * {channels // count} + {channels % count}"],
        related=at.related("the call that failed"),
        fixes=[
            decision.fix(str(n), f"{n} groups of {channels // n}") for n in near(channels, count)
        ],
    )


# ---- Kernels


@explains(
    RuntimeError, r"Kernel size can't be greater than actual input size|Output size is too small"
)
def kernel(raised: Raised):
    """How the size shrank is in the input's shape."""
    given = upstream.inner(raised.error, "input")
    layer = raised.layer
    if not values.is_tensor(given) or layer is None:
        return None
    spot, fixes, at = upstream.of_module(layer), [], raised.innermost
    evidence = [f"input {values.describe(given)} reaches {values.describe_module(layer)}"]
    size = getattr(layer, "kernel_size", 1)
    largest = max(size) if isinstance(size, tuple) else size
    if spot is not None and hasattr(layer, "padding"):
        text = changes.with_keyword(spot.source, spot.node, "padding", str(largest // 2))
        fixes.append(spot.fix(text))
    return raised.finding(
        "kernel-too-large",
        f"a kernel of {largest} for an image of {tuple(given.shape[2:])}",
        spot.place if spot is not None else at,
        evidence=evidence,
        fixes=fixes,
        related=at.related("the call that failed"),
    )
