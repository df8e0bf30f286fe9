"""Errors of attention and recurrent layers: which dimension is time, which keys there are."""

from __future__ import annotations

import ast
import contextlib

from rushlight import nn

from .. import changes, frames, trial, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised, try_calls

kind(
    "batch-first",
    "An attention or recurrent layer takes the batch for time",
    """
nn.LSTM, nn.GRU, nn.RNN, nn.MultiheadAttention and nn.Transformer's layers read (time, batch,
features) unless they are built with batch_first=True. Given (batch, time, features) they attend, or
step, over the samples of the batch, and mostly without an error: it shows where a mask, a state, a
key of another length or the targets count the samples. Build the layer with batch_first=True, or
transpose what goes in and what comes out.
""",
)
kind(
    "attention-keys",
    "Query, key and value of an attention do not belong together",
    """
Key and value have one length and the query's batch; the query has a length of its own. A key of
another width than embed_dim needs kdim= and vdim= where the layer is built. A learned query of
batch 1 has to be expanded to the batch: query.expand(x.shape[0], -1, -1).
scaled_dot_product_attention attends over the last dimension but one: (batch, heads, time, width).
""",
)

_LAYERS = (
    nn.MultiheadAttention,
    nn.RNNBase,
    nn.Transformer,
    nn.TransformerEncoder,
    nn.TransformerDecoder,
    nn.TransformerEncoderLayer,
    nn.TransformerDecoderLayer,
)


@explains(
    (RuntimeError, AssertionError),
    r"shape '\[[-\d, ]*\]' is invalid for input of size|attn_mask is .* but should be"
    r"|Expected key_padded_mask\.shape|batch number of src and tgt must be equal"
    r"|does not match value shape|do not match value's|mat1 and mat2 shapes cannot be multiplied",
)
def attention(raised: Raised):
    """The layer that reads time first, or what it was given."""
    layer = next((m for m in raised.modules() if isinstance(m, _LAYERS)), None)
    if layer is None or not isinstance(raised.innermost.node, ast.Call):
        return None
    inner = raised.layer
    if isinstance(inner, nn.MultiheadAttention):
        wide = _other_width(raised, inner)
        if wide is not None:
            return wide
    if "cannot be multiplied" in raised.message:
        return None
    turned = _mask(raised) if "key_padded" in raised.message and _batch_first(layer) else None
    found = turned or _time_first(raised, layer, raised.innermost, _passes)
    if found is not None:
        return found
    return _mask(raised) if "mask" in raised.message else _given(raised, inner)


# ---- The order of time and batch


@contextlib.contextmanager
def _reading(layer, batch_first: bool):
    """A block in which a layer and those within it read the batch first, or time."""
    parts = [m for m in layer.modules() if "batch_first" in vars(m)]
    before = [m.batch_first for m in parts]
    try:
        for part in parts:
            part.batch_first = batch_first
        yield
    finally:
        for part, was in zip(parts, before, strict=True):
            part.batch_first = was


def _batch_first(layer) -> bool | None:
    return next((m.batch_first for m in layer.modules() if "batch_first" in vars(m)), None)


def _passes(at) -> bool:
    return trial.expression(at.frame, at.names, at.source.segment(at.node)).good


def _time_first(raised: Raised, layer, called, passes):
    """The layer's own line, where the call passes once it reads dimension 0 as the batch."""
    at, now = raised.innermost, _batch_first(layer)
    spot = upstream.options_of(layer)
    if now is None or spot is None or at.source is None:
        return None
    with _reading(layer, not now):
        if not passes(called):
            return None
    text = changes.with_keyword(spot.source, spot.node, "batch_first", str(not now))
    given = _input_of(raised)
    evidence = [f"{type(layer).__name__} has batch_first={now}"]
    if given is not None:
        time, batch = (1, 0) if now else (0, 1)
        evidence.append(
            f"of {values.shape_of(given)} it reads {given.shape[time]} as time and "
            f"{given.shape[batch]} as the batch"
        )
    evidence.append(raised.message.splitlines()[0][:76])
    fix = spot.fix(text, tried="this call tried")
    return raised.finding(
        "batch-first",
        f"{type(layer).__name__} reads dimension {1 if now else 0} as time, and it is the batch",
        spot.place,
        evidence=evidence,
        related=at.related("the call that failed"),
        fixes=[fix],
    )


def _input_of(raised: Raised):
    """The first tensor of three dimensions that the library's layers were given."""
    for names in reversed(list(upstream.inner_locals(raised.error))):
        for name in ("query", "src", "tgt", "input"):
            given = names.get(name)
            if values.is_tensor(given) and given.dim() == 3:
                return given
    return None


# ---- Query, key and value


def _other_width(raised: Raised, layer):
    """Keys of another width than the query: kdim and vdim."""
    key, value = (upstream.inner(raised.error, n) for n in ("key", "value"))
    if not all(map(values.is_tensor, (key, value))) or not layer._qkv_same_embed_dim:
        return None
    if key.shape[-1] == layer.embed_dim == value.shape[-1]:
        return None
    spot, at = upstream.of_module(layer), raised.innermost
    query = upstream.inner(raised.error, "query")
    if spot is None or query.shape[-1] != layer.embed_dim:
        return None
    widths = [f"kdim={key.shape[-1]}", f"vdim={value.shape[-1]}"]
    given = [*changes.arguments(spot.source, spot.node, ("kdim", "vdim")), *widths]
    text = changes.call_text(spot.source, spot.node, None, given)
    return raised.finding(
        "attention-keys",
        f"the keys have width {key.shape[-1]}, the attention was built for {layer.embed_dim}",
        spot.place,
        evidence=[f"query {values.describe(query)}", f"key {values.describe(key)}"],
        related=at.related("the call that failed"),
        fixes=[spot.fix(text)],
    )


def _given(raised: Raised, layer):
    """A batch, or a length, in which query, key and value differ."""
    at, node = raised.innermost, raised.innermost.node
    names = ("query", "key", "value")
    nodes = {k.arg: k.value for k in node.keywords if k.arg in names}
    nodes |= dict(zip(names, node.args, strict=False))
    known = {n: upstream.value(at, nodes[n]) for n in names if n in nodes}
    if len(known) != 3 or not all(values.is_tensor(v) for v in known.values()):
        return None
    rows = [(n, at.source.segment(nodes[n]), values.describe(v)) for n, v in known.items()]
    batch = 0 if _batch_first(layer) else 1
    fixes = []
    if known["query"].dim() == 3 and known["query"].shape[batch] == 1:
        whole = f"{changes.atom(at.source, nodes['key'])}.shape[{batch}]"
        sizes = f"{whole}, -1, -1" if batch == 0 else f"-1, {whole}, -1"
        text = changes.method(at.source, nodes["query"], f"expand({sizes})")
        fixes.append(at.fix_part(nodes["query"], text, text))
    elif known["key"].shape != known["value"].shape:
        for part, other in (("value", "key"), ("key", "value")):
            text = at.source.segment(nodes[other])
            fixes.append(at.fix_part(nodes[part], text, f"{part} {text}, as the {other}"))
    return raised.finding(
        "attention-keys",
        "query, key and value do not belong together",
        evidence=[*values.table(rows), raised.message.splitlines()[0][:76]],
        fixes=try_calls(raised, fixes),
    )


def _mask(raised: Raised):
    """A mask for other queries or keys: cut to those there are, or turned."""
    at = raised.innermost
    padding = "key_padded" in raised.message
    name = "key_padding_mask" if padding else "attn_mask"
    mask = upstream.inner(raised.error, name)
    query, key = (upstream.inner(raised.error, n) for n in ("query", "key"))
    if not values.is_tensor(mask) or not values.is_tensor(key):
        return None
    given = [part for part, held in upstream.tensors(at) if held.shape == mask.shape]
    wanted = (key.shape[1], key.shape[0]) if padding else (query.shape[0], key.shape[0])
    cut = ", ".join(f":{n}" for n in wanted)
    fixes = []
    for part in given[:1] if mask.dim() == 2 else ():
        for text in (
            changes.method(at.source, part, "T"),
            f"{changes.atom(at.source, part)}[{cut}]",
        ):
            fixes.append(at.fix_part(part, text, text))
    fixes = try_calls(raised, fixes)
    if not fixes:
        return None
    return raised.finding(
        "attention-keys",
        f"the {name} is for other queries or keys than there are",
        evidence=[f"{name} {values.describe(mask)}; {wanted} are wanted"],
        fixes=fixes,
    )


@explains(RuntimeError, r"The size of tensor a \(\d+\) must match the size of tensor b")
def dot_product(raised: Raised):
    """scaled_dot_product_attention of (batch, time, heads, width)."""
    at, node = raised.innermost, raised.innermost.node
    if frames.called(node) != "scaled_dot_product_attention" or len(node.args) < 3:
        return None
    known = [(part, upstream.value(at, part)) for part in node.args[:3]]
    if not all(values.is_tensor(v) and v.dim() == 4 for _, v in known):
        return None
    (_, query), (_, key), _ = known
    if query.shape[2] != key.shape[2] or query.shape[1] == key.shape[1]:
        return None
    turned = [changes.method(at.source, part, "transpose(1, 2)") for part, _ in known]
    rest = changes.arguments(at.source, node)[3:]
    text = f"{changes.call_text(at.source, node, None, [*turned, *rest])}.transpose(1, 2)"
    rows = [(at.source.segment(part), values.describe(v)) for part, v in known]
    fix = at.source.fix(node, text, "each with (batch, heads, time, width)", call=text)
    return raised.finding(
        "attention-keys",
        f"dimension 1 is taken for the heads: {query.shape[1]} and {key.shape[1]} of them",
        evidence=values.table(rows),
        fixes=try_calls(raised, [fix]),
    )


@explains(RuntimeError, r"Expected `len\(lengths\)` to be equal to batch_size")
def packed(raised: Raised):
    """batch_first where sequences are packed, and where the same function pads them again."""
    at, node = raised.innermost, raised.innermost.node
    if frames.called(node) != "pack_padded_sequence" or not node.args:
        return None
    given, lengths = upstream.value(at, node.args[0]), upstream.inner(raised.error, "lengths")
    if not values.is_tensor(given) or lengths is None:
        return None
    text = changes.with_keyword(at.source, node, "batch_first", "True")
    edits = [at.source.replace((node, text))]
    for again in ast.walk(at.source.function_of(node) or at.source.tree):
        if frames.called(again) == "pad_packed_sequence" and not changes.keyword(
            again, "batch_first"
        ):
            call = changes.with_keyword(at.source, again, "batch_first", "True")
            edits.append(at.source.replace((again, call)))
    return raised.finding(
        "batch-first",
        f"{len(lengths)} lengths; dimension 1 of {values.shape_of(given)} is taken for the batch",
        (at.file, node.lineno),
        evidence=[f"{at.source.segment(node.args[0])} is {values.describe(given)}"],
        fixes=try_calls(raised, [Fix(text, edits, call=text)]),
    )


# ---- Where only the loss counts the samples


@explains(
    (ValueError, RuntimeError),
    r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)"
    r"|(?:input|target|Target|Using a target) size \(.*(?:same as|different to|match).*size \(",
)
def loss(raised: Raised):
    """A model whose recurrent layer gives one result for each step in place of each sample."""
    at = raised.innermost
    node = at.node
    if at.source is None or not isinstance(node, ast.Call) or not node.args:
        return None
    part = node.args[0]
    spot = upstream.Spot(at.source, part, at)
    if isinstance(part, ast.Name):
        spot = upstream.bound(raised, at, part)
    if spot is None or spot.at is not at or not isinstance(spot.node, ast.Call):
        return None
    whole = changes.with_part(at.source, node, part, f"({spot.text})")
    for model in _models(at, spot.node):
        for layer in [m for m in model.modules() if isinstance(m, _LAYERS)]:
            found = _time_first(
                raised, layer, at, lambda a: trial.expression(a.frame, a.names, whole).good
            )
            if found is not None:
                return found
    return None


def _models(at, call: ast.Call) -> list:
    """The modules that a call and its operands name."""
    named = (n for n in ast.walk(call) if isinstance(n, (ast.Name, ast.Attribute)))
    held = [at.value(n, None) for n in named]
    return [m for m in held if isinstance(m, nn.Module)]
