"""Errors of layers: channels, groups and widths they were built with, batches of one value."""

from __future__ import annotations

import ast

from rushlight import _C, nn

from .. import changes, construction, decided, frames, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised, try_calls

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
    "layer-width",
    "A layer was built for another width than it gets",
    """
Normalisation, recurrent and attention layers are built for one size: num_features,
normalized_shape, input_size, embed_dim. It has to be the input's own: dimension 1 for BatchNorm
and GroupNorm, the last one for the others.
""",
)
kind(
    "batchnorm-one-value",
    "BatchNorm is training on a single value per channel",
    """
In training mode BatchNorm takes mean and variance of the batch, and of one value there is no
variance. When predicting a single sample, model.eval() was forgotten: the layer then uses the
averages it has learned. When the last batch of an epoch is one sample, drop it (drop_last=True) or
choose another batch size. LayerNorm and GroupNorm do not look at the batch.
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
    given = upstream.inner(raised.error, "input")
    modules = raised.modules()
    layer = modules[-1] if modules and isinstance(modules[-1], nn.modules.conv._ConvNd) else None
    at = raised.innermost
    wanted, have = int(raised.match[4]), int(raised.match[5])
    if layer is None or not values.is_tensor(given):
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
    return _number(
        raised,
        layer,
        "conv-channels",
        (0, "in_channels"),
        have,
        f"{path} was built for {wanted} channels and got {have}",
        evidence,
    )


def _number(raised: Raised, layer, id: str, argument: tuple, wanted: int, title: str, evidence):
    """A finding at the line where a number of a layer was decided."""
    given = upstream.inner(raised.error, "input")
    sizes = tuple(given.shape) if values.is_tensor(given) else ()
    found = construction.number_changes(layer, *argument, wanted, sizes)
    return raised.number(id, title, found, "the call that failed", evidence)


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
    layer, at = raised.modules()[-1] if raised.modules() else None, raised.innermost
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


@explains(ValueError, r"(in_channels|out_channels) must be divisible by groups")
def groups(raised: Raised):
    """The groups that would divide both."""
    at, node = raised.innermost, raised.innermost.node
    names = {k: upstream.inner(raised.error, k) for k in ("in_channels", "out_channels", "groups")}
    if not isinstance(node, ast.Call) or not all(isinstance(v, int) for v in names.values()):
        return None
    first, second, count = names.values()
    common = [g for g in range(1, count + 1) if first % g == 0 and second % g == 0]
    fixes = []
    nearest = common[-1]
    given = construction.argument(node, 6, "groups")
    if given is not None:
        edit = at.source.replace((given, str(nearest)))
        fixes.append(Fix(f"groups={nearest}: divides {first} and {second}", [edit]))
    wrong, size = (0, first) if raised.match[1] == "in_channels" else (1, second)
    argument = construction.argument(node, wrong, raised.match[1])
    if argument is not None:
        near = -(-size // count) * count
        edit = at.source.replace((argument, str(near)))
        fixes.append(Fix(f"{raised.match[1]} {near}: a multiple of {count}", [edit]))
    evidence = [f"in_channels {first}, out_channels {second}, groups {count}"]
    return raised.finding(
        "conv-groups",
        f"{size} {raised.match[1]} do not split into {count} groups",
        evidence=evidence,
        fixes=fixes,
    )


@explains(RuntimeError, r"running_mean should contain (\d+) elements not (\d+)")
def batch_norm(raised: Raised):
    """num_features of a BatchNorm."""
    layer = raised.modules()[-1]
    given, have = upstream.inner(raised.error, "input"), int(raised.match[1])
    evidence = [f"input {values.describe(given)}: {have} channels in dimension 1"]
    name = raised.path_of(layer)
    return _number(
        raised,
        layer,
        "layer-width",
        (0, "num_features"),
        have,
        f"{name} was built for {raised.match[2]} channels and got {have}",
        evidence,
    )


@explains(RuntimeError, r"Given normalized_shape=\[(\d+)\], expected input with shape \[\*, \d+\]")
def layer_norm(raised: Raised):
    """normalized_shape of a LayerNorm."""
    given = upstream.inner(raised.error, "input")
    if not raised.modules() or not values.is_tensor(given):
        return None
    layer, have = raised.modules()[-1], given.shape[-1]
    name = raised.path_of(layer)
    return _number(
        raised,
        layer,
        "layer-width",
        (0, "normalized_shape"),
        have,
        f"{name} was built for {raised.match[1]} features and got {have}",
        [f"input {values.describe(given)}: {have} in its last dimension"],
    )


@explains(
    (RuntimeError, ValueError),
    r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)",
)
def recurrent(raised: Raised):
    """input_size of an RNN, LSTM or GRU."""
    layer, given = raised.modules()[-1], upstream.inner(raised.error, "input")
    have = int(raised.match[2])
    name = raised.path_of(layer)
    shown = values.describe(given) if values.is_tensor(given) else f"(..., {have})"
    return _number(
        raised,
        layer,
        "layer-width",
        (0, "input_size"),
        have,
        f"{name} was built for {raised.match[1]} features and got {have}",
        [f"input {shown}"],
    )


@explains(AssertionError, r"was expecting embedding dimension of (\d+), but got (\d+)")
def attention(raised: Raised):
    """embed_dim of a MultiheadAttention, d_model of a layer that holds one."""
    layer, have = raised.modules()[-1], int(raised.match[2])
    spot, name = upstream.of_module(layer), "embed_dim"
    if spot is not None and frames.called(spot.node).startswith("Transformer"):
        name = "d_model"
    path = raised.path_of(layer)
    return _number(
        raised,
        layer,
        "layer-width",
        (0, name),
        have,
        f"{path} was built for width {raised.match[1]} and got {have}",
        [f"the query's last dimension is {have}"],
    )


@explains(RuntimeError, r"Expected hidden(?:\[\d\])? size \(([\d, ]+)\), got \[([\d, ]+)\]")
def hidden(raised: Raised):
    """A state for another batch: batch_first, or the last batch that is smaller."""
    at = raised.innermost
    layer, given = raised.modules()[-1], upstream.inner(raised.error, "input")
    wanted = tuple(int(n) for n in raised.match[1].split(","))
    have = tuple(int(n) for n in raised.match[2].split(","))
    batch = 1 if not getattr(layer, "batch_first", False) else 0
    evidence = [f"the state is {have}; layers, batch and size are {wanted}"]
    if values.is_tensor(given):
        side = "batch_first" if batch == 0 else "time first"
        evidence.append(
            f"input {values.shape_of(given)}, read with {side}: batch {given.shape[batch]}"
        )
    fixes = []
    if values.is_tensor(given) and given.dim() == 3 and given.shape[1 - batch] == have[-2]:
        spot = upstream.of_module(layer)
        if spot is not None:
            text = changes.with_keyword(spot.source, spot.node, "batch_first", str(batch == 1))
            return raised.finding(
                "batch-first",
                f"the layer reads dimension {batch} as batch; the state says the other",
                spot.place,
                evidence=evidence,
                fixes=[spot.fix(text)],
                related=at.related("the call that failed"),
            )
    state = upstream.inner(raised.error, "hx")
    counted = _layers_of_state(raised, at, state, have, wanted, evidence)
    if counted is not None:
        return counted
    state = state[0] if isinstance(state, tuple) else state
    spot = upstream.of_tensor(state) if values.is_tensor(state) else None
    if spot is not None and isinstance(spot.node, ast.Call):
        numbers = [
            n
            for n in ast.walk(spot.node)
            if isinstance(n, ast.Constant) and n.value == have[-2] and wanted[-2] != have[-2]
        ]
        argument = at.node.args[0] if isinstance(at.node, ast.Call) and at.node.args else None
        near = spot.file == at.file and spot.line <= at.line and isinstance(argument, ast.Name)
        if len(numbers) == 1 and near:
            text = f"{argument.id}.size({batch})"
            fixes.append(spot.source.fix(numbers[0], text))
        elif len(numbers) == 1:
            fixes.append(spot.source.fix(numbers[0], str(wanted[-2]), f"batch {wanted[-2]}"))
    begins = _zeros_left_out(at, upstream.inner(raised.error, "hx")) if not fixes else []
    fixes += begins
    return raised.finding(
        "layer-width",
        f"a state of {have}, wanted is {wanted}",
        spot.place if spot is not None and fixes else at,
        evidence=evidence,
        fixes=fixes,
        related=at.related("the call that failed"),
    )


def _zeros_left_out(at, state) -> list[Fix]:
    """A state of zeros is what the module begins with itself: for the batch that it gets."""
    parts = state if isinstance(state, tuple) else (state,)
    call = at.node
    if not isinstance(call, ast.Call) or not all(map(values.is_tensor, parts)):
        return []
    if any(bool((p.detach() != 0).any()) for p in parts):
        return []
    if len(call.args) != 2 or call.keywords:
        return []
    text = changes.call_text(at.source, call, None, [at.source.segment(call.args[0])])
    return [at.source.fix(call, text, f"{text}: it begins with zeros itself")]


def _layers_of_state(raised: Raised, at, state, have, wanted, evidence):
    """A first state with fewer layers (or directions) than the module has: where it was made."""
    state = state[0] if isinstance(state, tuple) else state
    spot = upstream.of_tensor(state) if values.is_tensor(state) else None
    differ = [d for d in range(len(have)) if have[d] != wanted[d]] if have else []
    if spot is None or not isinstance(spot.node, ast.Call) or differ != [0] or not spot.node.args:
        return None
    sizes = spot.node.args
    if isinstance(sizes[0], (ast.Tuple, ast.List)):
        sizes = sizes[0].elts
    if len(sizes) != len(have):
        return None
    layer = raised.modules()[-1]
    text = str(wanted[0])
    if isinstance(at.node, ast.Call) and spot.file == at.file:
        both = 2 if getattr(layer, "bidirectional", False) else 1
        text = f"{at.source.segment(at.node.func)}.num_layers" + (" * 2" if both == 2 else "")
        if getattr(layer, "num_layers", 0) * both != wanted[0]:
            text = str(wanted[0])
    return raised.finding(
        "layer-width",
        f"the first state is for {have[0]} layers, the module has {wanted[0]}",
        spot.place,
        evidence=evidence,
        fixes=[spot.fix_part(sizes[0], text)],
        related=at.related("the call that failed"),
    )


@explains(
    RuntimeError, r"Kernel size can't be greater than actual input size|Output size is too small"
)
def kernel(raised: Raised):
    """How the size shrank is in the input's shape."""
    given = upstream.inner(raised.error, "input")
    layer = raised.modules()[-1] if raised.modules() else None
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


# ---- One value per channel


@explains(ValueError, r"Expected more than 1 value per channel when training")
def one_value(raised: Raised):
    """eval() that is missing, or a last batch of one."""
    at = raised.innermost
    layer = next((m for m in reversed(raised.modules()) if hasattr(m, "running_mean")), None)
    given = upstream.inner(raised.error, "input")
    evidence = []
    if values.is_tensor(given):
        evidence.append(f"{values.shape_of(given)} reaches BatchNorm: one value per channel")
    loader = _loader(raised) if _C.is_grad_enabled() or _trains(raised) else None
    if loader is not None:
        spot, rest = loader
        text = changes.with_keyword(spot.source, spot.node, "drop_last", "True")
        return raised.finding(
            "batchnorm-one-value",
            "the last batch of the epoch is a single sample",
            spot.place,
            evidence=[*evidence, rest],
            related=at.related("the call that failed"),
            fixes=[spot.fix(text)],
        )
    found = _model_call(raised, layer)
    if found is None:
        return raised.finding(
            "batchnorm-one-value", "BatchNorm is in training mode", evidence=evidence
        )
    frame, name = found
    place, block = _evaluation(frame)
    fix = Fix(f"{name}.eval() before it", [frame.source.insert_before(block, f"{name}.eval()")])
    count = sum(1 for m in raised.modules()[0].modules() if hasattr(m, "running_mean"))
    evidence.append(f"{name} is in training mode, {count} BatchNorm in it")
    return raised.finding(
        "batchnorm-one-value",
        f"{name}.eval() is missing before a single sample is predicted",
        place,
        evidence=evidence,
        related=at.related("the call that failed"),
        fixes=[fix],
    )


def _trains(raised: Raised) -> bool:
    """Whether a loop on the way calls backward."""
    for at in raised.frames:
        if at.source is None or at.node is None:
            continue
        for loop in at.source.loops_around(at.node):
            if any(upstream.called(n) == "backward" for n in ast.walk(loop)):
                return True
    return False


def _loader(raised: Raised):
    """The DataLoader whose loop runs, where its last batch is a single sample."""
    from rushlight.utils.data import DataLoader

    for at in reversed(raised.frames):
        if at.source is None or at.node is None:
            continue
        for loop in at.source.loops_around(at.node):
            if not isinstance(loop, ast.For):
                continue
            for node in ast.walk(loop.iter):
                held = at.value(node, None)
                if not isinstance(held, DataLoader) or not held.batch_size:
                    continue
                if held.batch_size < 2 or len(held.dataset) % held.batch_size != 1:
                    continue
                made = upstream.bound(raised, at, node)
                if made is not None and upstream.called(made.node) == "DataLoader":
                    rest = f"{len(held.dataset)} samples in batches of {held.batch_size}: 1 is left"
                    return made, rest
    return None


def _model_call(raised: Raised, layer):
    """The frame that calls the module that holds the layer from outside, and the module's name."""
    for at in reversed(raised.frames):
        if not isinstance(at.node, ast.Call):
            continue
        owner = at.frame.f_locals.get("self")
        if isinstance(owner, nn.Module) and layer in list(owner.modules()):
            continue
        for part in (at.node.func, getattr(at.node.func, "value", at.node.func)):
            held = at.value(part, None)
            if isinstance(held, nn.Module) and layer in list(held.modules()):
                return at, at.source.segment(part)
    return None


def _evaluation(at):
    """The statement that begins the evaluation: a ``with no_grad()``, a loop, or the call."""
    block = at.statement
    walk = getattr(block, "parent", None)
    while walk is not None and not isinstance(walk, (ast.FunctionDef, ast.ClassDef, ast.Module)):
        if isinstance(walk, ast.With):
            names = [upstream.called(i.context_expr) for i in walk.items]
            if any(n in ("no_grad", "inference_mode") for n in names):
                block = walk
        walk = getattr(walk, "parent", None)
    return (at.file, block.lineno), block


kind(
    "heads-do-not-divide",
    "An attention's width is not a multiple of its number of heads",
    """
MultiheadAttention splits its embed_dim into num_heads equal parts, so the one has to divide the
other: 8 heads of width 8 for 64. Change either number.
""",
)


@explains(
    (AssertionError, ValueError), r"embed_dim must be divisible by num_heads|must be divisible by"
)
def heads(raised: Raised):
    """The next numbers of heads, and the next width, that divide."""
    at = raised.innermost
    call = at.node
    if not isinstance(call, ast.Call):
        return None
    if upstream.called(call) == "GroupNorm":
        return _groups(raised, at, call)
    wide = construction.argument(call, 0, "embed_dim") or construction.argument(call, 0, "d_model")
    many = construction.argument(call, 1, "num_heads") or construction.argument(call, 1, "nhead")
    width, count = (upstream.value(at, n) if n is not None else None for n in (wide, many))
    if type(width) is not int or type(count) is not int or count < 1:
        return None
    outer = decided.callers(raised)
    count_at = decided.follow(at.source, many, outer)
    width_at = decided.follow(at.source, wide, outer)
    if count_at.keyword and width_at.keyword:  # both are left to their defaults
        count_at, width_at = count_at.default or count_at, width_at.default or width_at
    fixes = [count_at.fix(str(n), f"{n} of width {width // n}") for n in near(width, count)[:1]]
    more = str(width + -width % count)
    fixes.append(width_at.fix(more, f"width {more}"))
    return raised.finding(
        "heads-do-not-divide",
        f"{upstream.called(call)}: {width} does not divide into {count} heads",
        count_at.place,
        evidence=[f"{width} = {count} * {width // count} + {width % count}"],
        related=at.related("the call that failed"),
        fixes=fixes,
    )


def _groups(raised: Raised, at, call):
    """The nearest number of groups that divides a GroupNorm's channels."""
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


def near(width: int, heads: int) -> list[int]:
    """The numbers of heads that divide a width, the two that are nearest."""
    divides = [n for n in range(1, width + 1) if width % n == 0]
    return sorted(divides, key=lambda n: (abs(n - heads), n))[:2]
