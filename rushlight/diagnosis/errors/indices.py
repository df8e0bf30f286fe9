"""Errors about indices: rows that an embedding lacks, classes that a loss lacks, positions."""

from __future__ import annotations

import ast
import itertools

from rushlight import nn

from .. import changes, construction, decided, graphs, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised
from .targets import converted

kind(
    "embedding-index",
    "An embedding was asked for a row that it does not have",
    """
nn.Embedding(n, d) has the rows 0 to n - 1; a negative index is not counted from the end, as it
would be in a list. The usual ways in: a padding value of -1 (pad with a real row, such as 0, and
say padding_idx=0), a vocabulary that has grown by special tokens since the table was sized, ids
that begin at 1, or positions past the longest length the table was built for.
""",
)
kind(
    "class-index",
    "A class label is outside of what the model can say",
    """
Scores of shape (N, C) know the classes 0 to C - 1. Labels that begin at 1 have to be shifted by
one (labels - 1); a new class needs one more output; a label such as -1 or 255 that means "ignore"
has to be named: ignore_index=-1. The default ignored label is -100.
""",
)
kind(
    "index-out-of-range",
    "An index lies outside of the dimension it is used on",
    """
Positions of a dimension of size n are 0 to n - 1, or -n to -1 from its end. The dimension counts:
x[1, 7] uses 7 on the second one. gather, scatter and index_select take no negative positions.
""",
)


TABLES = (nn.Embedding, nn.EmbeddingBag)


@explains(
    (IndexError, RuntimeError),
    r"index out of range in self|of input takes value -?\d+ which|found idx to be -?\d+",
)
def embedding(raised: Raised):
    """Which values lie outside, and what put them there."""
    at = raised.innermost
    given, weight = upstream.inner(raised.error, "input"), upstream.inner(raised.error, "weight")
    layer = next((m for m in reversed(raised.modules()) if isinstance(m, TABLES)), None)
    if weight is None and layer is not None:
        weight = layer.weight
    if not values.is_tensor(given):
        known = upstream.tensors(at)
        if len(known) < 2:
            return None
        given, weight = _index_and_table(known)
    rows = weight.shape[0] if values.is_tensor(weight) else None
    if not values.is_tensor(given) or rows is None:
        return None
    evidence, low, high = _outside(given, rows, "rows")
    if evidence is None:
        return None
    if low < 0:
        padded = _padding(raised, at, given, low, evidence)
        if padded is not None:
            return padded
    if layer is not None and high >= rows:
        title = f"{values.describe_module(layer)} has rows 0 to {rows - 1}; row {high} was asked"
        role = "the call that failed"
        built = construction.number_changes(layer, 0, "num_embeddings", high + 1)
        configured = built and isinstance(built[0].node, (ast.Attribute, ast.Subscript))
        decision = decided.of_argument(layer, 0, "num_embeddings") if configured else None
        if getattr(getattr(decision, "node", None), "value", None) == rows:
            return raised.finding(
                "embedding-index", title, decision.place, evidence=evidence,
                related=at.related(role), fixes=[decision.fix(str(high + 1))],
            )  # fmt: skip
        if built:
            return raised.number("embedding-index", title, built, role, evidence)
    spot = upstream.beginning(raised, given)
    return raised.finding(
        "embedding-index",
        f"row {low if low < 0 else high} of a table with rows 0 to {rows - 1}",
        spot.place if spot is not None else at,
        evidence=evidence,
        related=at.related("the call that failed"),
    )


def _index_and_table(known):
    whole = [v for _, v in known if not v.is_floating_point()]
    tables = [v for _, v in known if v.is_floating_point()]
    return (whole or [None])[0], (tables or [None])[0]


def _outside(given, size: int, what: str):
    """Evidence about values outside 0 to size - 1, the least and the greatest value."""
    low, high = int(given.min()), int(given.max())
    outside = (given < 0) | (given >= size)
    count = int(outside.sum())
    if count == 0:
        return None, low, high
    first = tuple(int(i) for i in outside.nonzero()[0])
    wrong = sorted({int(v) for v in given[outside].flatten().tolist()})
    shown = ", ".join(str(v) for v in wrong[:5]) + (", ..." if len(wrong) > 5 else "")
    at = ", ".join(map(str, first))
    return (
        [
            f"{what} are 0 to {size - 1}; at [{at}] stands {int(given[first])}",
            f"{count} of {given.numel()} values are outside: {shown}",
        ],
        low,
        high,
    )


def _padding(raised: Raised, at, given, low: int, evidence):
    """The call that filled up with the negative value."""
    spot = upstream.of_tensor(given)
    candidates = [spot] if spot is not None else []
    candidates += upstream.calls(
        upstream.user_sources(raised),
        "pad_sequence",
        "full",
        "pad",
        "full_like",
        "masked_fill",
        "pad_packed_sequence",
        "fill_",
        "nested_to_padded_tensor",
    )
    for found in candidates:
        if not isinstance(found.node, ast.Call):
            continue
        said = _says(found, low)
        if said is None:
            continue
        node, number = said
        text = found.source.segment(node)
        edit = number.source.replace((number.node, "0"))
        fixes = [Fix(f"{text} -> 0" if node is number.node else f"{text} = 0", [edit])]
        evidence = [*evidence, f"{low} is what {upstream.called(found.node)} fills up with: {text}"]
        return raised.finding(
            "embedding-index",
            f"the padding value {low} is used as a row number",
            found.place,
            evidence=evidence,
            related=at.related("the call that failed"),
            fixes=fixes,
        )
    return None


def _says(spot, number: int):
    """The argument of a call that is a number, and where that stands: there, or in a constant."""
    call = spot.node
    for node in [k.value for k in call.keywords] + list(call.args):
        place = spot
        if isinstance(node, ast.Name):
            place = upstream.global_name(spot.file, node.id)
        elif isinstance(node, (ast.Constant, ast.UnaryOp)):
            place = upstream.Spot(spot.source, node)
        else:
            continue
        try:
            found = ast.literal_eval(place.node) if place is not None else None
        except (ValueError, TypeError, SyntaxError):
            continue
        if found == number and type(found) is not bool:
            return node, place
    return None


@explains((IndexError, RuntimeError), r"Target (-?\d+) is out of bounds|Class values must be ")
def classes(raised: Raised):
    """Labels from 1, one class too many, or a label that means "ignore"."""
    at = raised.innermost
    given, target = upstream.inner(raised.error, "input"), upstream.inner(raised.error, "target")
    if not values.is_tensor(given) or not values.is_tensor(target):
        return None
    count = given.shape[1 if given.dim() > 1 else 0]
    ignored = upstream.inner(raised.error, "ignore_index")
    kept = target[target != ignored] if isinstance(ignored, int) else target
    evidence, low, high = _outside(kept, count, "classes")
    if evidence is None:
        return None
    if low >= 1 and high == count:
        evidence.append(f"the least label is {low}: they are counted from 1")
        return converted(
            raised,
            target,
            1,
            "class-index",
            f"labels are {low} to {high}; {count} scores know classes 0 to {count - 1}",
            evidence,
            write=changes.less,
        )
    if low < 0 or (high >= count and _sole(kept, count) is not None):
        value = low if low < 0 else _sole(kept, count)
        return _ignored(raised, at, target, value, evidence)
    wider = _more_outputs(raised, given, high + 1)
    if wider:
        title = f"label {high} needs {high + 1} scores, the model gives {count}"
        return raised.number("class-index", title, wider, "the loss that failed", evidence)
    spot = upstream.beginning(raised, target)
    return raised.finding(
        "class-index",
        f"label {high} with {count} scores",
        spot.place if spot is not None else at,
        evidence=evidence,
        related=at.related("the loss that failed"),
    )


def _sole(target, count: int) -> int | None:
    """A single value far outside, such as 255: a mark, not a class."""
    outside = sorted({int(v) for v in target[target >= count].flatten().tolist()})
    return outside[0] if len(outside) == 1 and outside[0] > count + 10 else None


def _ignored(raised: Raised, at, target, value: int, evidence):
    loss = next((m for m in reversed(raised.modules()) if hasattr(m, "ignore_index")), None)
    spot = upstream.of_module(loss) if loss is not None else None
    source, call = (spot.source, spot.node) if spot is not None else (at.source, at.node)
    fixes = []
    if isinstance(call, ast.Call):
        text = changes.with_keyword(source, call, "ignore_index", str(value))
        fixes.append(source.fix(call, text))
    place = spot.place if spot is not None else at
    return raised.finding(
        "class-index",
        f"the label {value} is no class: if it means 'ignore', the loss has to be told",
        place,
        evidence=evidence,
        related=at.related("the loss that failed"),
        fixes=fixes,
    )


def _more_outputs(raised: Raised, given, wanted: int):
    """The Linear whose bias or weight made the scores, found through the graph."""
    for node in itertools.islice(graphs.first_way(given), 6):
        for following, _ in node.next_functions:
            bias = getattr(following, "variable", None)
            if bias is None or tuple(bias.shape) != (given.shape[-1],):
                continue
            layer = _owner(raised, bias)
            if layer is not None:
                return construction.number_changes(layer, 1, "out_features", wanted)
    return []


def _owner(raised: Raised, parameter):
    """The module that a parameter belongs to, of those that the user's frames or objects hold."""
    for held in raised.held():
        near = [held] if isinstance(held, nn.Module) else values.attributes(held).values()
        for root in [v for v in near if isinstance(v, nn.Module)]:
            for module in root.modules():
                if any(p is parameter for p in module.parameters(recurse=False)):
                    return module
    return None


@explains(
    (IndexError, RuntimeError),
    r"[Ii]ndex (-?\d+) is out of bounds for dimension (\d+) with size (\d+)"
    r"|index (-?\d+) out of range in|too many indices for tensor of dimension",
)
def position(raised: Raised):
    """Which operand, which bound."""
    at = raised.innermost
    known = upstream.tensors(at)
    if not known:
        return None
    rows = [(at.source.segment(p), values.describe(v), values.made_at(v) or "") for p, v in known]
    evidence = values.table(rows)
    if raised.match[1] is None:
        return raised.finding("index-out-of-range", raised.message.split(".")[0], evidence=evidence)
    index, dim, size = int(raised.match[1]), int(raised.match[2]), int(raised.match[3])
    given = next((v for _, v in known[1:] if not v.is_floating_point()), None)
    if given is not None and given.numel() and values.dtype_name(given.dtype) != "bool":
        more, _, _ = _outside(given, size, "positions")
        evidence += more or []
    evidence.append(f"dimension {dim} has size {size}: positions 0 to {size - 1}")
    place, fixes = at, _the_last_one(at, index) if index == size else []
    loop = _range_of_loop(at, size)
    if loop is not None:
        spot, fix = loop
        place = spot.place
        fixes.insert(0, fix)
    return raised.finding(
        "index-out-of-range",
        f"position {index} in dimension {dim}, which has {size}",
        place,
        evidence=evidence,
        related=at.related("the index that failed"),
        fixes=fixes,
    )


def _the_last_one(at, index: int) -> list[Fix]:
    """The position in an index that is one too high, one lower."""
    parts = ast.walk(at.node.slice) if isinstance(at.node, ast.Subscript) else ()
    for part in parts:
        if isinstance(part, (ast.Name, ast.Constant)) and upstream.is_number(at, part, index):
            text = f"{at.source.segment(part)} - 1"
            return [at.source.fix(part, text, f"{text}: the last one")]
    return []


def _range_of_loop(at, size: int):
    """``for i in range(n)`` that runs past the end: range(size) in words of the tensor."""
    if not isinstance(at.node, ast.Subscript) or not isinstance(at.node.value, ast.Name):
        return None
    names = {n.id for n in ast.walk(at.node.slice) if isinstance(n, ast.Name)}
    for loop in at.loops:
        if not isinstance(loop, ast.For) or upstream.called(loop.iter) != "range":
            continue
        if not isinstance(loop.target, ast.Name) or loop.target.id not in names:
            continue
        end = loop.iter.args[-1] if len(loop.iter.args) < 3 else loop.iter.args[1]
        tensor = at.value(at.node.value, None)
        if not values.is_tensor(tensor) or tensor.shape[:1] != (size,):
            continue
        text = f"len({at.source.segment(at.node.value)})"
        fix = at.source.fix(end, text, f"range({text})")
        return upstream.Spot(at.source, loop, at), fix
    return None
