"""Losses that get what they do not expect: probabilities for logits, shapes that broadcast."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes
from ...frames import called
from ...registry import Check, check, kind
from ...values import address_of
from .. import places
from ..calls import PASSING
from ..places import found

kind(
    "loss-on-probabilities",
    "A loss that wants logits or log-probabilities gets probabilities",
    """
cross_entropy applies log_softmax itself, binary_cross_entropy_with_logits applies sigmoid itself,
and nll_loss wants log-probabilities. With softmax (or sigmoid) in front, the squashing happens
twice: the loss of perfect predictions does not reach zero (it stays near 0.55 for three classes)
and gradients shrink; nll_loss of probabilities is negative. Nothing raises. Hand the raw scores to
the loss and apply softmax only where probabilities are shown; for nll_loss use log_softmax.
""",
)
kind(
    "broadcast-comparison",
    "Two columns of N values were combined into N x N",
    """
A tensor of shape (N, 1) and one of shape (N,) broadcast to (N, N): each value meets all others. A
loss or an accuracy computed from that table is wrong without any error; a model trained so learns
the mean. Bring both to one shape, usually with squeeze(1) on the model's output.
""",
)

kind(
    "scores-clipped",
    "The scores of a loss come out of a relu",
    """
A loss that takes logits wants numbers of both signs: how far a class is ruled out is said by
negative ones. Behind a relu they are 0 at least, a score at 0 passes no gradient, and the loss
stays high. Let the last layer be linear.
""",
)
kind(
    "softmax-of-one-value",
    "A softmax over a single value is always 1",
    """
softmax makes numbers that sum to one along a dimension; where that has one entry, the result is 1
whatever goes in, and no gradient comes back. A single output for two classes takes sigmoid (best as
binary_cross_entropy_with_logits, which applies it itself).
""",
)

DOUBLE = {
    "cross_entropy_loss": ("softmax", "log_softmax"),
    "cross_entropy": ("softmax",),
    "nll_loss": ("softmax",),
    "nll_loss_nd": ("softmax",),
    "binary_cross_entropy_with_logits": ("sigmoid",),
    "kl_div": ("softmax",),
}
SOFTMAX = {"softmax", "_softmax", "special_softmax"}
RELUS = {"relu", "relu_", "relu6"}
LOGITS = {"cross_entropy_loss", "cross_entropy", "binary_cross_entropy_with_logits"}
LEAST_CLIPPED = 0.05  # of the scores
LOG = ("LogSoftmax", "log_softmax")
ELEMENTWISE_LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
COMPARISONS = {"eq", "ne", "__eq__", "__ne__", "isclose"}
DIFFERENCES = {"sub", "rsub", "subtract", "mul"}
REDUCTIONS = {"sum", "mean", "count_nonzero", "nansum", "nanmean"}
ON_THE_WAY = {"float", "double", "long", "int", "to", "pow", "square", "abs", "mul"}


@check
class Probabilities(Check):
    kinds = ("loss-on-probabilities",)
    needs: ClassVar = {
        "*": (
            f"op {' '.join(DOUBLE)}",
            1,
            "no such loss was seen",
        ),
    }

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, SOFTMAX | {"sigmoid", "log_softmax"} | DOUBLE.keys())

    def op(self, op):
        if op.name in SOFTMAX or op.name in ("sigmoid", "log_softmax"):
            op.module  # noqa: B018  (kept with what the op made)
            return
        if op.name not in DOUBLE or op.source is None:
            return
        made = op.source.root
        squashed = made.name in SOFTMAX or made.name in DOUBLE[op.name]
        if made.name == "log_softmax" or not squashed:
            return
        if DOUBLE[op.name][0] not in made.name:
            return
        key = (made.site, op.site)
        if key not in self.seen:
            self.seen[key] = (made, op.name, op.site, _range(op.args[0]), tuple(op.args[0].shape))

    def findings(self, doctor):
        return [self.finding(*one) for one in self.seen.values()]

    def finding(self, made, loss, site, values, shape):
        activation = "sigmoid" if "sigmoid" in made.name else "softmax"
        log = loss.startswith(("nll", "kl"))
        wants = "log-probabilities" if log else "raw scores (logits)"
        name = loss.removesuffix("_loss") if loss.startswith("cross") else loss
        title = f"{name} wants {wants} and got {activation}'s result"
        evidence = [
            f"its input {shape} lies between {values[0]:.3g} and {values[1]:.3g}: probabilities"
        ]
        at, fixes = _undone(made, LOG if log else None)
        return found(
            "loss-on-probabilities",
            "wrong number",
            at,
            title,
            evidence,
            [(site, "the loss that got them")],
            fixes,
        )


@check
class Activated(Check):
    """What an activation leaves of the scores that a loss gets."""

    kinds = ("scores-clipped", "softmax-of-one-value")
    needs: ClassVar = {
        "scores-clipped": (f"op {' '.join(LOGITS)}", 2, "no loss of logits was seen"),
        "softmax-of-one-value": ("op softmax _softmax special_softmax", 2, "no softmax was seen"),
    }

    def start(self, doctor):
        self.clipped, self.ones = {}, {}
        losses = LOGITS | {"binary_cross_entropy"} | ELEMENTWISE_LOSSES
        doctor.watch.on("op", self.op, SOFTMAX | RELUS | losses)

    def op(self, op):
        if op.name in SOFTMAX or op.name in RELUS:
            op.module  # noqa: B018  (kept with what the op made)
            return
        scores = op.args[0] if op.args else None
        if op.source is None or scores is None or not scores.requires_grad:
            return
        made = op.source.root
        if made.name in RELUS and op.name in LOGITS:
            entry = self.clipped.setdefault(made.site, [made, op.site, 0, 0, 0])
            if entry[2] < 8:
                entry[2] += 1
                entry[3] += int((scores.detach() <= 0).sum())
                entry[4] += scores.numel()
        elif made.name in SOFTMAX and scores.numel() > 1:
            entry = self.ones.setdefault(made.site, [made, op, 0, True, tuple(scores.shape)])
            entry[2] += 1
            entry[3] = entry[3] and _range(scores) == (1.0, 1.0)

    def findings(self, doctor):
        out = [
            self.of_clipped(made, loss, least, count)
            for made, loss, calls, least, count in self.clipped.values()
            if calls > 1 and least >= LEAST_CLIPPED * count
        ]
        return out + [self.of_ones(*one) for one in self.ones.values() if one[3] and one[2] > 1]

    def of_clipped(self, made, loss, least, count):
        at, fixes = _undone(made)
        return found(
            "scores-clipped", "wrong number", at, "the scores of the loss come out of a relu",
            [f"{least} of {count} scores are 0 and pass no gradient"],
            [(loss, "the loss that got them")], fixes,
        )  # fmt: skip

    def of_ones(self, made, op, calls, _, shape):
        at, fixes = _undone(made, None if op.name in LOGITS else ("Sigmoid", "sigmoid"))
        return found(
            "softmax-of-one-value", "wrong result", at, "this softmax runs over a single value",
            [f"all values of its result {shape} are 1 in {calls} of {calls} calls"],
            [(op.site, "the loss that got them")], fixes,
        )  # fmt: skip


def _undone(made, instead=None):
    """(place, fixes): a squashing taken away, or another in its place: its class and function."""
    built = places.built(made.module) if made.module is not None else None
    if built is not None:
        source, call = built
        return (source.file, call.lineno), [_module_undone(source, call, instead)]
    fix = _call_undone(made.site, instead) if made.site.node is not None else None
    return made.site, [fix] if fix is not None else []


def _module_undone(source, call, instead):
    if instead == LOG:
        name = changes.another(source, call.func, instead[0])
        return source.fix(call.func, name, f"{name} instead")
    prefix = source.segment(call.func).rpartition(".")[0]
    prefix = prefix or changes.prefix_for(source, "nn")
    text = f"{prefix}.{instead[0] if instead else 'Identity'}()"
    said = f"{text} instead" if instead else "without the activation: the loss applies it"
    return source.fix(call, text, said)


def _call_undone(site, instead):
    source, node = site.source, site.node
    inner = places.operand(site, 0)
    if inner is None or not isinstance(node, ast.Call):
        return None
    if instead is None:
        said = "without the activation: the loss applies it"
        return source.fix(node, source.segment(inner), said)
    if instead == LOG:
        func = source.segment(node.func)
        name = func[: len(func) - len("softmax")] + instead[1]
        return source.fix(node.func, name, f"{name} instead")
    text = f"{changes.atom(source, inner)}.{instead[1]}()"
    return source.fix(node, text)


def _range(tensor) -> tuple[float, float]:
    flat = tensor.detach().float()
    return flat.min().item(), flat.max().item()


@check
class Broadcast(Check):
    kinds = ("broadcast-comparison",)

    def start(self, doctor):
        self.tables, self.seen = {}, {}
        names = ELEMENTWISE_LOSSES | COMPARISONS | DIFFERENCES | ON_THE_WAY | REDUCTIONS
        doctor.watch.on("op", self.op, names | PASSING | {"broadcast_tensors"})

    def op(self, op):
        name = op.name
        if name == "broadcast_tensors":
            pair = op.args[0] if len(op.args) == 1 else op.args
            wide = _column_against_row(*pair) if len(pair) == 2 else None
            if wide is not None:
                op.facts = ((op.site, wide, tuple(pair[0].shape), name),)
            return
        if name in ELEMENTWISE_LOSSES and op.source is not None and op.source.passed:
            one = op.source.passed[0]
            if one[3] == "broadcast_tensors":
                self.seen.setdefault(one[0], (*one, op.site))
            return
        if name in ELEMENTWISE_LOSSES or name in COMPARISONS or name in DIFFERENCES:
            if len(op.args) < 2:
                return
            wide = _column_against_row(op.args[0], op.args[1])
            if name == "mul" and wide is None and op.source is not None:
                op.facts = op.source.passed
            if wide is None or self.is_meant(op):
                return
            if name in ELEMENTWISE_LOSSES:
                self.seen.setdefault(
                    op.site, (op.site, wide, tuple(op.args[0].shape), name, op.site)
                )
            else:
                op.facts = ((op.site, wide, tuple(op.args[0].shape), name),)
        elif name in ON_THE_WAY or name in REDUCTIONS or name in PASSING:
            made = op.source
            if made is None or not made.passed:
                return
            if name in REDUCTIONS:
                if op.result.dim() == 0:
                    one = made.passed[0]
                    self.seen.setdefault(one[0], (*one, op.site))
            else:
                op.facts = made.passed

    def is_meant(self, op):
        """Pairs on purpose: an index column of arange, both sides from one tensor, or an operand
        that is made a column where it stands.
        """
        a, b = op.args[:2]
        made = [op.calls.made(t) for t in (a, b)]
        if any(m is not None and m.root.name == "arange" for m in made):
            return True
        same = address_of(a) == address_of(b)
        operands = [places.operand(op.site, n) for n in (0, 1) if op.name in DIFFERENCES]
        return (
            same
            or any(map(_is_column, operands))
            or any(
                m is not None
                and m.name in ("__getitem__", "unsqueeze")
                and m.site.line == op.site.line
                and t.dim() == 2
                and not _picks_rows(op, number)
                for number, (m, t) in enumerate(zip(made, (a, b), strict=True))
            )
        )

    def findings(self, doctor):
        return [self.finding(*one) for one in self.seen.values()]

    def finding(self, site, wide, shape, name, reduced):
        n = max(shape)
        shapes = (f"({n}, 1)", f"({n},)") if wide == 0 else (f"({n},)", f"({n}, 1)")
        what = "compared" if name in COMPARISONS else "combined"
        evidence = [
            f"{shapes[0]} and {shapes[1]} {what}: ({n}, {n}), {n * n} values instead of {n}"
        ]
        fixes, node = [], places.operand(site, wide)
        if node is not None and name != "rsub":
            text = site.source.segment(node)
            if isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp, ast.BoolOp, ast.IfExp)):
                text = f"({text})"
            fixes.append(site.source.fix(node, f"{text}.squeeze(1)"))
        return found(
            "broadcast-comparison",
            "wrong number",
            site,
            f"every one of {n} values met all {n} of the other side",
            evidence,
            [(reduced, "the number made from it")] if reduced is not site else [],
            fixes,
        )


def _is_column(node: ast.expr | None) -> bool:
    """Whether an expression makes a column of a row: ``y[:, None]``, ``y[None].T``."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return _is_row(node.value)
    if isinstance(node, ast.Subscript):
        parts = getattr(node.slice, "elts", ())
        return len(parts) > 1 and _is_none(parts[-1])
    name, numbers = called(node), [ast.unparse(a) for a in getattr(node, "args", ())]
    if name in ("t", "transpose"):
        return isinstance(node.func, ast.Attribute) and _is_row(node.func.value)
    if name in ("view", "reshape"):
        return len(numbers) > 1 and numbers[-1] == "1"
    return name == "unsqueeze" and numbers[-1:] in (["1"], ["-1"])


def _is_row(node: ast.expr) -> bool:
    """Whether an expression puts a dimension in front: ``y[None]``, ``y.unsqueeze(0)``."""
    if isinstance(node, ast.Subscript):
        return _is_none(getattr(node.slice, "elts", [node.slice])[0])
    return called(node) == "unsqueeze" and [ast.unparse(a) for a in node.args[-1:]] == ["0"]


def _is_none(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition(".")[2] in ("None", "newaxis")


def _picks_rows(op, number) -> bool:
    """Whether an operand is ``y[rows]``, which leaves a column a column, not ``y[:, None]``."""
    node = places.operand(op.site, number)
    if not isinstance(node, ast.Subscript):
        return False
    at = node.slice
    named = _C._locals(op.frame).get(at.id) if isinstance(at, ast.Name) else None
    return isinstance(at, ast.Slice) or hasattr(named, "grad_fn")


def _column_against_row(a, b) -> int | None:
    """Which of two operands is the (N, 1) beside an (N,), N > 1; None if neither is."""
    for number, (x, y) in enumerate(((a, b), (b, a))):
        if not (hasattr(x, "grad_fn") and hasattr(y, "grad_fn")):
            return None
        if x.dim() == 2 and y.dim() == 1 and x.shape[1] == 1 and x.shape[0] == y.shape[0] > 1:
            return number
    return None


kind(
    "nll-without-log",
    "nll_loss got raw scores, not log-probabilities",
    """
nll_loss picks the value of the right class and negates it: of log-probabilities that is the
likelihood, of raw scores it is a number without meaning that falls without end, because nothing
keeps the scores small. Use cross_entropy, which applies log_softmax itself, or let the model end in
log_softmax.
""",
)


@check
class Scores(Check):
    kinds = ("nll-without-log",)
    needs: ClassVar = {"*": ("op nll_loss nll_loss_nd", 1, "no nll_loss was seen")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, ("nll_loss", "nll_loss_nd"))

    def op(self, op):
        scores = op.args[0] if op.args else None
        if scores is None or scores.dim() < 2 or not scores.requires_grad:
            return
        if op.source is not None and op.source.root.name in SOFTMAX:
            return  # probabilities: told by the other check
        entry = self.seen.setdefault(op.site, [op.module, 0, 0, 0.0, 0.0])
        entry[1] += 1
        if entry[1] > 4 and entry[1] % 16:
            return
        values = scores.detach().float()
        sums = values.exp().sum(1)
        if float(values.max()) > 1e-3 and float((sums - 1).abs().max()) > 1e-2:
            entry[2] += 1
            entry[3], entry[4] = float(sums.min()), float(sums.max())

    def findings(self, doctor):
        return [
            self.finding(site, *one) for site, one in self.seen.items() if one[2] and one[1] >= 2
        ]

    def finding(self, site, module, count, wrong, low, high):
        evidence = [
            (
                f"exp of a row of its input sums to {low:.3g} ... {high:.3g}, log-probabilities to "
                f"1 ({wrong} of the calls looked at, {count} in all)"
            )
        ]
        at, fixes = site, []
        source, call = places.made_by(site, module)
        if call is not None:
            at = (source.file, call.lineno)
            name = source.segment(call.func)
            for old, new in (("NLLLoss", "CrossEntropyLoss"), ("nll_loss", "cross_entropy")):
                if name.endswith(old):
                    text = name.removesuffix(old) + new
                    fixes.append(source.fix(call.func, text, f"{text} instead"))
        title = "nll_loss wants log-probabilities and got raw scores"
        related = [(site, "the loss that got them")]
        return found("nll-without-log", "wrong result", at, title, evidence, related, fixes)
