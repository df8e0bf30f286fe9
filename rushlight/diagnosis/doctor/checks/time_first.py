"""Layers that read time first, in a program whose targets count the first dimension as samples."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _C, nn

from ... import changes, graphs, upstream
from ...registry import Check, check
from ...values import describe_module
from ..passes import LOSSES
from ..places import found

LAYERS = (
    nn.RNNBase,
    nn.MultiheadAttention,
    nn.TransformerEncoderLayer,
    nn.TransformerDecoderLayer,
    nn.TransformerEncoder,
    nn.TransformerDecoder,
)
LEAST_LOSSES = 2
MOST_LOSSES = 16


@check
class TimeFirst(Check):
    kinds = ("batch-first",)  # told of by errors as well
    needs: ClassVar = {"*": ("step", 2, "fewer than 2 optimizer steps")}

    def start(self, doctor):
        self.given, self.counts = {}, {}
        doctor.watch.on("forward", self.forward)
        doctor.watch.on("op", self.loss, LOSSES)

    def forward(self, module, args, output):
        if not isinstance(module, LAYERS) or not args:
            return
        parts = (m for m in module.modules() if "batch_first" in vars(m))
        if any(part.batch_first for part in parts):
            return
        shape = tuple(getattr(args[0], "shape", ()))
        if len(shape) == 3 and 1 not in shape[:2] and shape[0] != shape[1]:
            self.given[id(module)] = (module, shape)

    def loss(self, op):
        """Which of the first two dimensions has as many entries as there are targets."""
        given, self.given = self.given, {}
        if not given or len(op.args) < 2 or not isinstance(op.args[1], _C.TensorBase):
            return
        scores, target = op.args[:2]
        alone = target.dim() == 1 or (target.dim() == 2 and target.shape[1] == 1)
        if not scores.requires_grad or not alone:
            return
        reached = None
        for key, (module, shape) in given.items():
            entry = self.counts.setdefault(key, [module, shape, 0, 0, op.site])
            if entry[2] + entry[3] >= MOST_LOSSES or len(target) not in shape[:2]:
                continue
            reached = reached or {id(p) for p in graphs.leaves(scores)}
            if any(id(p) in reached for p in module.parameters()):
                entry[2 if len(target) == shape[0] else 3] += 1

    def findings(self, doctor):
        out = {}
        for module, shape, samples, times, site in self.counts.values():
            spot = upstream.options_of(module)
            if samples >= LEAST_LOSSES and not times and spot is not None:
                finding = self.finding(spot, module, shape, samples, site)
                out.setdefault(spot.place, finding)
        return list(out.values())

    def finding(self, spot, module, shape, count, site):
        text = changes.with_keyword(spot.source, spot.node, "batch_first", "True")
        read = f"{describe_module(module)} read {shape} as {shape[0]} steps of {shape[1]} samples"
        return found(
            "batch-first", "wrong result", spot.place,
            f"{type(module).__name__} takes the batch for time",
            [f"{read}; {count} losses had {shape[0]} targets"],
            [(site, "the loss that counts the samples")],
            [spot.fix(text, "batch_first=True")],
        )  # fmt: skip
