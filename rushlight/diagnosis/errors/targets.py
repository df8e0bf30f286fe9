"""Errors of losses: a column of labels, scores that are no chances, shapes that differ."""

from __future__ import annotations

import ast
import itertools

import rushlight
from rushlight import _C

from .. import changes, frames, graphs, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised, sequences

kind(
    "target-column",
    "Class labels came as a column (N, 1)",
    """
cross_entropy and nll_loss want class indices of shape (N,) for scores of shape (N, C), or (N, d1,
...) for (N, C, d1, ...). A file with one column of labels, or y.reshape(-1, 1) as scikit-learn
likes it, gives (N, 1). Drop that dimension where the labels enter: labels.squeeze(1). Class
probabilities are another matter: floats of the scores' own shape.
""",
)
kind(
    "target-dtype",
    "Class labels or indices have a dtype that is none for indices",
    """
Class labels are indices and have to be int64 (`long`). Labels read from a float array, from a CSV
file or made by torch.tensor([0., 1.]) are float32: convert them once, where they enter, with
.long(). The other way round, regression and binary losses want floats as targets: .float().
""",
)
kind(
    "target-shape",
    "A loss got a prediction and a target of different shapes",
    """
Prediction and target of an elementwise loss have to have one shape. The usual difference is the
model's last dimension of size 1: (N, 1) against (N,). Make them equal on purpose, by
prediction.squeeze(1) or target.unsqueeze(1); to broadcast them would compare each prediction with
every target.
""",
)
kind(
    "bce-without-sigmoid",
    "Binary cross entropy got scores that are not between 0 and 1",
    """
BCELoss takes probabilities. A model that ends in a Linear gives scores of any size.
BCEWithLogitsLoss takes the scores as they are and computes the sigmoid and the logarithm together,
which is exact where a sigmoid would round to 0 or 1. When predicting, apply torch.sigmoid to the
scores yourself.
""",
)
kind(
    "batch-sizes-differ",
    "A loss got another number of targets than of predictions",
    """
The first dimension counts the samples and has to be equal. When predictions have shape
(batch, time, classes), flatten both: logits.flatten(0, 1) and targets.flatten(). When a view(-1, n)
mixed up batch and features, the count of rows says so: keep the batch with flatten(1).
""",
)


@explains(RuntimeError, r"0D or 1D target tensor expected, multi-target not supported")
def column(raised: Raised):
    """(N, 1) labels, made at their own line or taken from a dataset."""
    target = upstream.inner(raised.error, "target")
    if target is None or not values.is_tensor(target):
        known = [v for _, v in upstream.tensors(raised.innermost)]
        target = known[-1] if known else None
    if target is None or target.dim() != 2:
        return None
    one = target.shape[1] == 1
    evidence = [f"target is {values.describe(target)}; class indices are ({target.shape[0]},)"]
    if one:
        return converted(
            raised,
            target,
            "squeeze(1)",
            "target-column",
            "the labels are a column (N, 1); class indices have shape (N,)",
            evidence,
            write=_without_column,
        )
    if bool(((target == 0) | (target == 1)).all()) and bool((target.sum(1) == 1).all()):
        evidence.append("each row has a single 1: one-hot")
        return converted(
            raised,
            target,
            "argmax(1)",
            "target-column",
            "the labels are one-hot; class indices have shape (N,)",
            evidence,
            ("float()",),
        )
    return None


def _without_column(source, node, method: str) -> str:
    """``y`` for ``y.unsqueeze(1)``, else the method behind the expression."""
    made = upstream.called(node) == "unsqueeze" and frames.receiver(node) is not None
    if made and [ast.unparse(a) for a in node.args] in (["1"], ["-1"]):
        return source.segment(node.func.value)
    return changes.method(source, node, method)


def converted(
    raised, target, method, id: str, title: str, evidence, others=(), write=changes.method
):
    """A finding where the target entered: the method goes behind that, or the argument.

    ``write(source, node, method)`` is the changed expression.
    """
    at = raised.innermost
    spot, fixes, place = upstream.beginning(raised, target), [], at
    written = _is_written(spot)
    argument = _argument(raised, at, target)
    methods = (method, *others)
    if written:
        place = spot.place
        fixes += _without_conversion(spot, method)
        for call in methods:
            text = write(spot.source, spot.node, call)
            fixes.append(spot.fix(text, _short(text, call)))
    if argument is not None:
        for call in methods:
            text = write(at.source, argument, call)
            fix = at.source.fix(argument, text)
            if all(fix.edits != other.edits for other in fixes):  # made where it is passed
                fixes.append(fix)
    related = at.related("the loss that got it")
    if place is not at and spot.place != (at.file, at.line):
        evidence = [*evidence, f"made at {spot.where}"]
    return raised.finding(id, title, place, evidence=evidence, related=related, fixes=fixes)


def _one_hot(raised: Raised, at, target):
    """A one-hot target where the loss takes the class numbers themselves."""
    spot = upstream.beginning(raised, target)
    if spot is None or upstream.called(spot.node) != "one_hot" or not spot.node.args:
        return None
    loss = upstream.called(at.node)
    if "floating point type for target" not in raised.message:
        return None
    labels = spot.source.segment(spot.node.args[0])
    text = changes.method(spot.source, spot.node, "float()")
    fixes = [
        spot.fix(labels, f"{labels}: the class numbers"),
        spot.fix(text, f"{text}: one-hot as probabilities"),
    ]
    return raised.finding(
        "target-dtype",
        f"the target is one-hot in whole numbers; {loss} takes the class numbers",
        spot.place,
        evidence=[f"target is {values.describe(target)}, a single 1 in each row"],
        related=at.related("the loss that got it"),
        fixes=fixes,
    )


_TO_FLOATS = {"float", "double", "half", "to", "astype"}


def _without_conversion(spot, method: str) -> list[Fix]:
    """Labels that were made floats: the conversion left out, where what it converts is whole."""
    node = spot.node
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if method != "long()" or not named or node.func.attr not in _TO_FLOATS:
        return []
    inner, instead = node.func.value, "without"
    text = spot.source.segment(inner)
    if isinstance(inner, (ast.Compare, ast.BoolOp)):  # bools are no class labels either
        text, instead = changes.method(spot.source, inner, method), ".long() instead of"
    return [
        spot.source.fix(
            node, text, f"{instead} .{node.func.attr}(): class labels are whole numbers"
        )
    ]


def _short(text: str, call) -> str:
    call = f".{call}" if isinstance(call, str) else f"- {call}"
    return text if len(text) <= 60 else f"{call} where the tensor is made"


def _is_written(spot) -> bool:
    """Whether a spot is an expression that makes the tensor, not a batch of a loop."""
    if spot is None or not isinstance(spot.node, (ast.Call, ast.Subscript, ast.BinOp, ast.Compare)):
        return False
    return not isinstance(getattr(spot.node, "parent", None), ast.For)


def _argument(raised: Raised, at, tensor):
    """The expression of the failing call that is a tensor."""
    parts = upstream.operands(at)
    for part in parts:
        if at.value(part, None) is tensor:
            return part
    for part in reversed(parts):  # computed in the call: by shape
        found = upstream.value(at, part)
        if values.is_tensor(found) and found.shape == tensor.shape and found.dtype == tensor.dtype:
            return part
    return None


@explains(
    (RuntimeError, TypeError, IndexError),
    r"expected target dtype to be Long|expected scalar type Long|to be Long,"
    r"|scalar types: Long, Int"
    r"|tensors used as indices must be long|Expected dtype int64 for index"
    r"|expected scalar type Float but found Long|one_hot is only applicable to index tensor"
    r"|Found dtype (Long|Int|Bool|Double) but expected (Float|Double)"
    r"|result type Float can't be cast to|Expected floating point type for target with class",
)
def dtype(raised: Raised):
    """Labels and indices that are no int64, found among the loss's or the layer's arguments."""
    at = raised.innermost
    if isinstance(at.node, ast.AugAssign) or upstream.called(at.node).endswith("_"):
        return None  # written in place: no loss
    target = None
    for name in ("target", "indices", "index"):
        found = upstream.inner(raised.error, name)
        target = found if values.is_tensor(found) else target
    if target is None and type(raised.layer).__name__ == "Embedding":
        target = upstream.inner(raised.error, "input")
    wants_floats = "Found dtype" in raised.message or "Float but found Long" in raised.message
    wants_floats = wants_floats or "floating point type for target" in raised.message
    wants_floats = wants_floats or "result type Float can't be cast to" in raised.message
    if target is None:
        known = [
            v
            for _, v in upstream.tensors(at)
            if v.is_floating_point() is not wants_floats and v.dtype is not rushlight.long
        ]
        target = known[-1] if known else None
    if target is None and "one_hot" in raised.message:
        target = next((v for _, v in upstream.tensors(at)), None)
    if target is None or not values.is_tensor(target):
        return None
    if wants_floats:
        wanted, method = "floats", "float()"
    else:
        wanted, method = "int64 indices", "long()"
    name = values.dtype_name(target.dtype)
    if name == "int64" and not wants_floats:
        return None
    encoded = _one_hot(raised, at, target) if wants_floats else None
    if encoded is not None:
        return encoded
    looked_up = isinstance(raised.error, IndexError) or "scalar types: Long, Int" in raised.message
    what = "index" if looked_up else "target"
    return converted(
        raised,
        target,
        method,
        "target-dtype",
        f"the {what} is {name}; wanted are {wanted}",
        [f"{what} is {values.describe(target)}"],
    )


@explains(
    ValueError,
    r"Using a target size \((.*?)\) that is different to the input size"
    r"|Target size \((.*?)\) must be the same as input size",
)
def shape(raised: Raised):
    """(N, 1) against (N,): the target follows the prediction."""
    given, target = upstream.inner(raised.error, "input"), upstream.inner(raised.error, "target")
    if not values.is_tensor(given) or not values.is_tensor(target):
        return None
    at = raised.innermost
    evidence = values.table(
        [
            ("prediction", values.describe(given), values.made_at(given) or ""),
            ("target", values.describe(target), values.made_at(target) or ""),
        ]
    )
    fixes = []
    pairs = [(target, m) for m in _reshapes(tuple(target.shape), tuple(given.shape))] + [
        (given, m) for m in _reshapes(tuple(given.shape), tuple(target.shape))
    ]
    for tensor, method in pairs:
        argument = _argument(raised, at, tensor)
        if argument is not None:
            text = changes.method(at.source, argument, method)
            fixes.append(at.source.fix(argument, text))
    title = f"prediction {values.shape_of(given)} and target {values.shape_of(target)} differ"
    return raised.finding("target-shape", title, evidence=evidence, fixes=fixes)


def _reshapes(have: tuple, want: tuple) -> list[str]:
    """Methods that turn one shape into another: squeeze, unsqueeze, reshape of equal counts."""
    for d in range(len(have)):
        if have[d] == 1 and have[:d] + have[d + 1 :] == want:
            return [f"squeeze({d})"]
    for d in range(len(want)):
        if want[d] == 1 and want[:d] + want[d + 1 :] == have:
            return [f"unsqueeze({d})"]
    return []


@explains(RuntimeError, r"all elements of input should be between 0 and 1")
def bce(raised: Raised):
    """BCELoss and binary_cross_entropy of scores."""
    at = raised.innermost
    given = upstream.inner(raised.error, "input")
    if not values.is_tensor(given):
        return None
    outside = int(((given < 0) | (given > 1)).sum())
    low, high = given.detach().min().item(), given.detach().max().item()
    evidence = [
        (
            f"input {values.describe(given)}: {outside} of {given.numel()} values are outside "
            f"of 0..1; they go from {low:.3g} to {high:.3g}"
        )
    ]
    if outside == 0:
        evidence = [f"input {values.describe(given)} holds NaN"]
        return raised.finding("bce-without-sigmoid", "the input is NaN", evidence=evidence)
    loss = next((m for m in raised.modules() if type(m).__name__ == "BCELoss"), None)
    spot = upstream.of_module(loss) if loss is not None else None
    fixes, place = [], at
    if spot is not None:
        place = spot.place
        func = spot.source.segment(spot.node.func)
        name = func.replace("BCELoss", "BCEWithLogitsLoss")
        if name != func:
            edits = [spot.source.replace((spot.node.func, name))]
            edits += _imported(spot.source, name, "BCELoss", "BCEWithLogitsLoss")
            fixes.append(Fix(f"{name}()", edits))
    elif isinstance(at.node, ast.Call):
        func = at.source.segment(at.node.func)
        name = func + "_with_logits"
        edits = [at.source.replace((at.node.func, name))]
        edits += _imported(at.source, name, func, name)
        fixes.append(Fix(name, edits))
    argument = at.node.args[0] if isinstance(at.node, ast.Call) and at.node.args else None
    if argument is not None:
        torch = changes.torch_name(at.source)
        text = f"{torch}.sigmoid({at.source.segment(argument)})"
        fixes.append(at.source.fix(argument, text))
    related = at.related("the call that failed")
    title = "the loss takes probabilities and got scores: a sigmoid is missing"
    return raised.finding(
        "bce-without-sigmoid", title, place, evidence=evidence, related=related, fixes=fixes
    )


def _imported(source, name: str, old: str, new: str) -> list:
    """Where a bare name was imported by name: the import has to bring the new one."""
    if "." in name:
        return []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == old:
                    return [source.replace((alias, new))]
    return []


@explains(RuntimeError, r"only batches of spatial targets supported \(3D tensors\)")
def spatial(raised: Raised):
    """Masks of one channel, (N, 1, H, W), where class numbers (N, H, W) are wanted."""
    target = upstream.inner(raised.error, "target")
    if not values.is_tensor(target) or target.dim() != 4 or target.shape[1] != 1:
        return None
    return converted(
        raised,
        target,
        "squeeze(1)",
        "target-column",
        "the masks have a channel (N, 1, H, W); class numbers have shape (N, H, W)",
        [f"target is {values.describe(target)}"],
    )


@explains(ValueError, r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)")
def batches(raised: Raised):
    """Predictions of sequences that were not flattened, or an image net's wrong view."""
    given, target = upstream.inner(raised.error, "input"), upstream.inner(raised.error, "target")
    if not values.is_tensor(given) or not values.is_tensor(target):
        return None
    padded = sequences.padded_time_first(raised, int(raised.match[1]), int(raised.match[2]))
    if padded is not None:
        return padded
    at = raised.innermost
    evidence = values.table(
        [
            ("input", values.describe(given), values.made_at(given) or ""),
            ("target", values.describe(target), values.made_at(target) or ""),
        ]
    )
    fixes = []
    argument, other = _argument(raised, at, given), _argument(raised, at, target)
    if given.dim() == 3 and target.dim() == 2 and given.shape[:2] == target.shape:
        if argument is not None and other is not None:
            a = changes.method(at.source, argument, "flatten(0, 1)")
            b = changes.method(at.source, other, "flatten()")
            fixes.append(Fix(f"{a}, {b}", [at.source.replace((argument, a), (other, b))]))
    elif target.numel() == given.shape[0] and other is not None:
        text = changes.method(at.source, other, "flatten()")
        fixes.append(at.source.fix(other, text))
    place, related = at, at.related("the loss that got it")
    view = _wrong_view(raised, given, target)
    if view is not None:
        spot, fix = view
        place = spot.place
        fixes.insert(0, fix)
    title = f"{raised.match[1]} predictions for {raised.match[2]} targets"
    return raised.finding(
        "batch-sizes-differ", title, place, evidence=evidence, related=related, fixes=fixes
    )


@explains(RuntimeError, r"Expected target size \[([\d, ]+)\], got \[([\d, ]+)\]")
def classes_last(raised: Raised):
    """Scores (N, T, C) for targets (N, T): the classes have to stand second."""
    given, target = upstream.inner(raised.error, "input"), upstream.inner(raised.error, "target")
    if not values.is_tensor(given) or not values.is_tensor(target):
        return None
    at = raised.innermost
    argument, fixes = _argument(raised, at, given), []
    evidence = values.table(
        [
            ("input", values.describe(given), f"read as {given.shape[1]} classes"),
            ("target", values.describe(target), values.made_at(target) or ""),
        ]
    )
    if argument is not None and given.shape[:-1] == target.shape:
        text = changes.method(at.source, argument, "movedim(-1, 1)")
        fixes.append(at.source.fix(argument, text))
        other = _argument(raised, at, target)
        if other is not None:
            a = changes.method(at.source, argument, "flatten(0, -2)")
            b = changes.method(at.source, other, "flatten()")
            fixes.append(Fix(f"{a}, {b}", [at.source.replace((argument, a), (other, b))]))
    return raised.finding(
        "batch-sizes-differ",
        "the classes have to be the second dimension of the scores",
        evidence=evidence,
        fixes=fixes,
    )


def _wrong_view(raised: Raised, given, target):
    """A view(-1, n) on the way that changed the number of rows: flatten(1) keeps it."""
    for node in itertools.islice(graphs.first_way(given), 200):
        if node.name() not in ("ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0"):
            continue
        spot = upstream.of_place(_C._origin(node))
        holder = frames.receiver(spot.node) if spot is not None else None
        if holder is None or frames.called(spot.node) not in ("view", "reshape"):
            continue
        if spot.node.args and ast.unparse(spot.node.args[0]) == "-1":
            return spot, spot.fix(changes.method(spot.source, holder, "flatten(1)"))
    return None


kind(
    "class-weights-length",
    "A loss has weights for another number of classes than the scores",
    """
weight= of cross_entropy and nll_loss holds one number for each class. It was counted from labels in
which a class is missing (bincount without minlength), or the model ends in another number of scores
than there are classes. torch.bincount(labels, minlength=classes) keeps the missing ones.
""",
)


@explains(RuntimeError, r"weight tensor should be defined either for all (\d+) .*shape: \[(\d+)")
def class_weights(raised: Raised):
    """The loss that was built with them."""
    at, modules = raised.innermost, raised.modules()
    spot = upstream.of_module(modules[-1]) if modules else None
    place = spot.place if spot is not None else at
    return raised.finding(
        "class-weights-length",
        f"{raised.match[2]} weights for {raised.match[1]} classes",
        place,
        evidence=[f"weight has {raised.match[2]} values, the scores {raised.match[1]} columns"],
        related=at.related("the loss that got the scores"),
    )
