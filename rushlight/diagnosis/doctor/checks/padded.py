"""What a model reads at filled-up positions: averages over them, the last of them as the end."""

from __future__ import annotations

import ast
from typing import ClassVar

import rushlight
from rushlight import _C, nn

from ... import changes
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found
from .masks import is_filling

kind(
    "padding-in-average",
    "An average over positions counts the padding",
    """
Sequences of a batch are filled up to one length. x.mean(1) adds what the model made of the padding
and divides by the length of the longest: a short sequence's average is mostly padding, and changes
with the batch it is in. Add up the tokens alone and divide by their number: (x * mask).sum(1) /
mask.sum(1) with mask = (ids != padding).unsqueeze(-1).
""",
)
kind(
    "padding-read-as-end",
    "The last position is read as the end of a sequence, and is padding",
    """
outputs[:, -1] of a recurrent layer is what it holds at the last position of the batch: for a
sequence that was filled up, after steps over padding alone. Read each sequence at its own end,
outputs[torch.arange(n), lengths - 1], or hand the layer pack_padded_sequence and use its last
state.
""",
)

LEAST_SHARE = 0.1  # of the positions
LEAST_OFF = 0.05  # of the average's size
LOOKS = 16  # at one place


class _Tokens:
    """Numbers that an embedding looked up, (rows, time) or (time, rows); where they are padding."""

    def __init__(self, ids, filler, mask):
        self.ids, self.filler, self.mask = ids, filler, mask


class _Read:
    """Reads at one place: positions, those of padding, and what they did to the result."""

    def __init__(self, op, axis, channels):
        self.op, self.axis, self.channels = op, axis, channels
        self.looks, self.total, self.filled, self.off, self.name = 0, 0, 0, 0.0, None
        self.filler = 0


@check
class Padded(Check):
    kinds = ("padding-in-average", "padding-read-as-end")
    needs: ClassVar = {"*": ("op embedding", 2, "no embedding was used")}

    def start(self, doctor):
        self.tokens, self.averages, self.ends, self.seen = None, {}, {}, {}
        self.total = None  # the last sum over a dimension: its result, of what, over which
        doctor.watch.on("forward", self.forward)
        doctor.watch.on("call", self.call)
        doctor.watch.on("op", self.mean, ("mean",))
        doctor.watch.on("op", self.sum, ("sum",))
        doctor.watch.on("op", self.quotient, ("div", "true_divide"))
        doctor.watch.on("op", self.end, ("__getitem__", "select"))

    def forward(self, module, args, output):
        ids = args[0] if isinstance(module, nn.Embedding) and args else None
        if not isinstance(ids, _C.TensorBase) or ids.dim() != 2 or ids.device.type != "cpu":
            return
        looks = self.seen[id(module)] = self.seen.get(id(module), 0) + 1
        self.tokens = _padding(ids, module.padding_idx) if looks <= 4 * LOOKS else None

    def call(self, module, output, frame):
        if not isinstance(module, nn.Embedding):
            self.tokens = self.total = None

    def is_read(self, op) -> bool:
        x = op.args[0]
        return self.tokens is not None and x.requires_grad and x.dim() == 3

    def mean(self, op):
        if self.is_read(op):
            self.average(op, op.args[0], _dimension(op), op.source)

    def sum(self, op):
        if self.is_read(op):
            self.total = op.result, op.args[0], _dimension(op), op.source

    def quotient(self, op):
        """``x.sum(1) / x.size(1)``: a mean, too."""
        if self.total is None or len(op.args) < 2 or self.total[0] is not op.args[0]:
            return
        _, x, dim, source = self.total
        length = x.shape[dim] if isinstance(dim, int) else None
        if isinstance(op.args[1], int) and op.args[1] == length:
            self.average(op, x, dim, source)

    def average(self, op, x, dim, source):
        """A mean of x over a dimension, by the op or by two."""
        tokens, x = self.tokens, x.detach()
        layout = _layout(x, tokens.ids, dim) if isinstance(dim, int) else None
        if layout is None:
            return
        axis, channels = layout
        entry = self.averages.setdefault(op.site, _Read(op, axis, channels))
        if entry.looks >= LOOKS:
            return
        mask = tokens.mask.unsqueeze(1 if channels else -1)
        fill = x.masked_fill(~mask, 0)
        if not bool(fill.any()) and source is not None and source.root.name != "embedding":
            return  # masked on purpose
        right = x.masked_fill(mask, 0).sum(dim) / (~mask).sum(dim).clamp(min=1)
        size = float(right.norm())
        entry.off += float((op.result.detach() - right).norm()) / size if size else 0.0
        self.note(entry, tokens, op)

    def note(self, entry, tokens, op):
        entry.looks, entry.filler = entry.looks + 1, tokens.filler
        entry.total += tokens.mask.numel()
        entry.filled += int(tokens.mask.sum())
        if entry.name is None:
            entry.name = next((n for n, v in _C._locals(op.frame).items() if v is tokens.ids), None)

    def end(self, op):
        """``outputs[:, -1]`` of a recurrent layer."""
        tokens = self.tokens
        if tokens is None or op.source is None or op.args[0].dim() != 3:
            return
        if op.source.root.name not in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
            return
        index = op.args[1] if len(op.args) == 2 else None
        rows_first = isinstance(index, tuple) and len(index) > 1 and index[0] == slice(None)
        at = index[1] if rows_first else index
        if at != -1 or _layout(op.args[0], tokens.ids, int(rows_first)) is None:
            return
        entry = self.ends.setdefault(op.site, _Read(op, int(rows_first), False))
        if entry.looks < LOOKS:
            last = tokens.mask.select(int(rows_first), -1)
            self.note(entry, tokens, op)
            entry.off += float(last.float().mean())

    def findings(self, doctor):
        averages = [(s, r) for s, r in self.averages.items() if r.off >= LEAST_OFF * r.looks]
        ends = [(s, r) for s, r in self.ends.items() if r.off >= r.looks / 2]
        out = [self.of_average(site, one) for site, one in averages if one.looks]
        return out + [self.of_end(site, one) for site, one in ends if one.looks]

    def of_average(self, site, one):
        evidence = [
            (
                f"{one.filled:,} of {one.total:,} positions ({one.filled / one.total:.0%}) hold "
                f"the padding {one.filler}; the average is {one.off / one.looks:.0%} off from "
                f"that of the tokens ({one.looks} batches looked at)"
            )
        ]
        return found(
            "padding-in-average", "wrong result", site,
            "the average over the positions counts the padding", evidence, [],
            _masked(site, one),
        )  # fmt: skip

    def of_end(self, site, one):
        share = one.off / one.looks
        evidence = [
            (
                f"{share:.0%} of the rows hold the padding {one.filler} at the last position, as "
                f"{one.filled:,} of {one.total:,} positions do ({one.looks} batches looked at)"
            )
        ]
        return found(
            "padding-read-as-end", "wrong result", site,
            "the last position is padding in most rows", evidence, [], _own_end(site, one),
        )  # fmt: skip


def _padding(ids, given) -> _Tokens | None:
    """Where ids are padding: the number given, or one that only fills up the ends of rows."""
    values = ids.detach()
    if values.numel() < 8 or min(values.shape) < 2:
        return None
    for filler in [given] if given is not None else {values[0, -1].item(), _usual(values)}:
        mask = values == filler
        sided = is_filling(~mask) or is_filling(~mask.t())
        if sided and int(mask.sum()) >= LEAST_SHARE * mask.numel():
            return _Tokens(ids, filler, mask)
    return None


def _usual(ids) -> int:
    """The number that most rows end with, or, where time is first, that the last row has most."""
    return rushlight.cat([ids[:, -1], ids[-1]]).mode().values.item()


def _dimension(op):
    """The dimension that an op reduces, where it is one."""
    dim = op.argument(1, "dim")
    return dim[0] if isinstance(dim, (list, tuple)) and len(dim) == 1 else dim


def _layout(x, ids, dim: int) -> tuple[int, bool] | None:
    """(which dimension of the ids is dropped by ``dim`` of x, whether channels stand before it)."""
    dim, shape = dim % x.dim(), tuple(ids.shape)
    if tuple(x.shape[:2]) == shape and dim < 2:
        return dim, False
    return (1, True) if dim == 2 and (x.shape[0], x.shape[2]) == shape else None


def _masked(site, one) -> list[Fix]:
    """The sum over the tokens, divided by their number."""
    source, x = site.source, places.operand(site, 0)
    if isinstance(site.node, ast.BinOp):  # the sum, divided by the length
        summed = isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute)
        x = x.func.value if summed and called(x) == "sum" and len(x.args) < 2 else None
    if one.name is None or x is None or site.statement is None:
        return [Fix("the sum over the tokens, divided by their number")]
    dim = 2 if one.channels else one.axis
    name = changes.free_name(source, "mask", "is_token")
    line = f"{name} = ({one.name} != {one.filler}).unsqueeze({1 if one.channels else -1})"
    text = f"({changes.atom(source, x)} * {name}).sum({dim}) / {name}.sum({dim}).clamp(min=1)"
    if not isinstance(site.node.parent, (ast.stmt, ast.Call)):
        text = f"({text})"
    return [Fix(text, [changes.after_line(source, site.statement, line, [site.node], [text])])]


def _own_end(site, one) -> list[Fix]:
    """Each row's own last token."""
    source, node = site.source, site.node
    held = node.value if isinstance(node, ast.Subscript) else None
    if one.name is None or not isinstance(held, ast.Name):
        return [Fix("outputs[torch.arange(n), lengths - 1]")]
    torch, out = changes.torch_name(source), held.id
    last = f"({one.name} != {one.filler}).sum({one.axis}) - 1"
    count = f"{torch}.arange({out}.shape[{1 - one.axis}])"
    text = f"{out}[{count}, {last}]" if one.axis else f"{out}[{last}, {count}]"
    return [source.fix(node, text)]
