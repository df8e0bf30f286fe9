"""Weights that begin too large."""

from __future__ import annotations

import ast
import math
from typing import ClassVar

from rushlight import _C, nn

from ... import changes, upstream
from ...registry import Check, check, kind
from ...values import is_ours
from ..passes import CLASS_LOSSES
from ..places import found

kind(
    "weights-too-large",
    "Weights begin so large that the first loss is far above that of guessing",
    """
A layer with n inputs and weights of standard deviation s makes values about s * sqrt(n) times as
large as those that it gets: with s = 1 and 64 inputs, eight times, in each layer. The first loss is
then many times log(classes), which mere guessing gives, and training spends its time on shrinking
the scores. Initialise by the number of inputs: nn.init.kaiming_normal_ before ReLU, xavier_normal_
otherwise, or keep what the layer does itself.
""",
)

LARGE = 4.0  # times the size of what a layer gets


@check
class TooLarge(Check):
    kinds = ("weights-too-large",)
    needs: ClassVar = {"*": (f"op {' '.join(CLASS_LOSSES)}", 1, "no loss over classes was seen")}

    def start(self, doctor):
        self.passes, self.steps, self.seen, self.looked = doctor.passes, 0, [], set()
        doctor.watch.on("stepped", self.stepped)
        doctor.watch.on("op", self.op, CLASS_LOSSES)

    def stepped(self, optimizer):
        self.steps += 1

    def op(self, op):
        scores, loss = op.args[0], op.result
        if self.steps or op.site in self.looked or loss.dim() or not loss.requires_grad:
            return
        self.looked.add(op.site)
        if scores.dim() < 2 or scores.shape[1] < 2:
            return
        guess, first = math.log(scores.shape[1]), float(loss.detach())
        if not first > 3 * guess + 2:
            return
        for model in self.passes.models.values():
            for name, module in model.named_modules():
                for own, p in module.named_parameters(recurse=False):
                    gain, writer = _gain(module, p), _C._last_writer(p) or _C._origin(p)
                    if gain > LARGE and upstream.of_place(writer) is not None:
                        path = f"{name}.{own}" if name else own
                        self.seen.append((writer, path, p, gain, first, guess, op.site))

    def findings(self, doctor):
        lines = {}
        for one in self.seen:
            lines.setdefault((one[0][0], one[0][2]), []).append(one)
        return [self.finding(group) for group in lines.values()]

    def finding(self, group):
        writer, path, p, gain, first, guess, site = max(group, key=lambda one: one[3])
        spot, fixes = upstream.of_place(writer), []
        text = _smaller(spot.source, spot.node, p)
        if text is not None:
            fixes.append(spot.fix(text))
        evidence = [
            f"{path} {tuple(p.shape)} makes values {gain:.1f} times as large as it gets",
            f"the first loss is {first:.3g}; guessing gives log(classes) = {guess:.3g}",
        ]
        return found(
            "weights-too-large", "wrong result", (writer[0], writer[2]),
            f"{len({id(one[2]) for one in group})} weights begin too large", evidence,
            [(site, "the loss")], fixes,
        )  # fmt: skip


def _gain(module, p) -> float:
    """How much larger a layer's results are than what it gets, at random values."""
    if p.dim() < 2 or isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return 0.0
    inputs = p.numel() // p.shape[0] if is_ours(type(module)) else p.shape[0]
    return float(p.detach().float().square().mean().sqrt()) * math.sqrt(inputs)


def _smaller(source, node, p) -> str | None:
    """The initialisation with a spread that fits the number of inputs."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name, whole = node.func.attr, source.segment(node)
    if name in ("normal_", "uniform_"):
        where = source.segment(node.func.value)
        if where.endswith("init") and node.args:
            kind_ = "kaiming_normal_" if name == "normal_" else "kaiming_uniform_"
            return f"{where}.{kind_}({source.segment(node.args[0])})"
        return f"{where}.normal_(0, 0.02)"
    if name in ("randn", "rand", "Parameter"):
        inner = node.args[0] if name == "Parameter" and len(node.args) == 1 else None
        small = f" * {1 / math.sqrt(p.shape[0]):.2g}"
        if inner is not None:
            return changes.with_part(source, node, inner, changes.atom(source, inner) + small)
        return whole + small
    return None
