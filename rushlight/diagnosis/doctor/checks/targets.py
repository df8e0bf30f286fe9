"""Targets that are not what their loss takes: several classes at once, logarithms, blends."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "several-classes-in-cross-entropy",
    "cross_entropy got targets with several classes, or none, in a row",
    """
cross_entropy takes a target of floats for probabilities: a row sums to 1, and so do the model's
softmax values. A row of zeros and ones with three ones asks for three classes of probability 1,
which no softmax gives, and a row of zeros is left out. Where classes do not exclude each other, use
binary_cross_entropy_with_logits (BCEWithLogitsLoss), which asks about each for itself.
""",
)
kind(
    "kl-target-in-logs",
    "kl_div got log-probabilities as its target",
    """
kl_div wants the model's log-probabilities first and plain probabilities as the target. A target of
log-probabilities, all of them negative, makes NaN or a number without meaning; log_target=True says
that it is in logarithms.
""",
)
kind(
    "classes-interpolated",
    "A map of class numbers was resized by averaging them",
    """
Bilinear interpolation between class 2 and class 6 gives 4, a class that stands nowhere near. Maps
of class numbers are resized with mode="nearest", which only copies.
""",
)

CROSS = ("cross_entropy_loss", "cross_entropy")
BLENDING = (
    "upsample_bilinear2d",
    "upsample_bicubic2d",
    "upsample_linear1d",
    "upsample_trilinear3d",
)
LOOKS = 16
LEAST_SHARE = 0.1  # of the rows, of the pixels a tenth of it


@check
class Targets(Check):
    kinds = ("several-classes-in-cross-entropy", "kl-target-in-logs")
    needs: ClassVar = {
        "several-classes-in-cross-entropy": (f"op {' '.join(CROSS)}", 1, "no such loss was seen"),
        "kl-target-in-logs": ("op kl_div", 1, "no kl_div was seen"),
    }

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.cross, CROSS)
        doctor.watch.on("op", self.divergence, ("kl_div",))

    def look(self, op):
        """What is known of a place: [module, looks, wrong rows, rows, least, most]."""
        entry = self.seen.setdefault(op.site, [op.name, op.module, 0, 0, 0, 0.0, 0.0])
        if entry[2] >= LOOKS:
            return None
        entry[2] += 1
        return entry

    def cross(self, op):
        target = op.args[1] if len(op.args) > 1 else None
        if not isinstance(target, _C.TensorBase) or not target.is_floating_point():
            return
        entry = self.look(op) if target.dim() > 1 else None
        if entry is None or bool(((target != 0) & (target != 1)).any()):
            return
        sums = target.detach().sum(1)
        entry[3] += int((sums != 1).sum())
        entry[4] += sums.numel()
        entry[5], entry[6] = float(sums.min()), max(entry[6], float(sums.max()))

    def divergence(self, op):
        target = op.args[1] if len(op.args) > 1 else None
        if op.kwargs.get("log_target") or not isinstance(target, _C.TensorBase) or not target.dim():
            return
        entry = self.look(op)
        if entry is None:
            return
        target = target.detach()
        sums = target.exp().sum(-1)
        wrong = (target.amax(-1) <= 0) & ((sums - 1).abs() < 1e-2)
        entry[3] += int(wrong.sum())
        entry[4] += sums.numel()
        entry[5], entry[6] = float(target.min()), float(target.max())

    def findings(self, doctor):
        out = []
        for site, (name, module, _, wrong, rows, *ends) in self.seen.items():
            if name in CROSS and wrong > LEAST_SHARE * rows:
                out.append(self.several(site, module, wrong, rows, *ends))
            elif name == "kl_div" and wrong == rows > 0:
                out.append(self.logs(site, module, rows, *ends))
        return out

    def several(self, site, module, wrong, rows, least, most):
        at, fixes = site, []
        source, call = places.made_by(site, module)
        if call is not None:
            at = (source.file, call.lineno)
            for old, new in (
                ("CrossEntropyLoss", "BCEWithLogitsLoss"),
                ("cross_entropy", "binary_cross_entropy_with_logits"),
            ):
                if called(call) == old:
                    text = source.segment(call.func).removesuffix(old) + new
                    fixes.append(source.fix(call.func, text))
        return found(
            "several-classes-in-cross-entropy", "wrong result", at,
            "cross_entropy wants one class in a row", [
                (f"{wrong:,} of {rows:,} target rows hold another number of ones than 1: "
                f"{least:.0f} to {most:.0f}")
            ],
            [(site, "the loss that got them")], fixes,
        )  # fmt: skip

    def logs(self, site, module, rows, least, most):
        at, fixes = site, []
        source, call = places.made_by(site, module)
        if call is not None:
            at = (source.file, call.lineno)
            fixes.append(source.fix(call, changes.with_keyword(source, call, "log_target", "True")))
        return found(
            "kl-target-in-logs", "wrong result", at,
            "kl_div takes its target for probabilities and got logarithms", [
                (f"{rows:,} of {rows:,} target rows lie between {least:.3g} and {most:.3g}, and "
                "their exp sums to 1")
            ],
            [(site, "the loss that got them")], fixes,
        )  # fmt: skip


@check
class Blended(Check):
    kinds = ("classes-interpolated",)
    needs: ClassVar = {"*": (f"op {' '.join(BLENDING)}", 1, "nothing was resized by averaging")}

    def start(self, doctor):
        self.seen, self.used = {}, {}
        doctor.watch.on("op", self.resize, BLENDING)
        doctor.watch.on("op", self.whole, ("long", "to", "int"))

    def resize(self, op):
        maps, blends = op.args[0].detach(), op.result.detach()
        entry = self.seen.setdefault(op.site, [0, 0, 0.0])
        if bool((maps != maps.round()).any()) or float(maps.max()) < 2:
            return
        entry[0] += int((blends != blends.round()).sum())
        entry[1] += blends.numel()
        entry[2] = max(entry[2], float(maps.max()))

    def whole(self, op):
        made = op.source if self.seen else None
        if made is not None and made.root.site in self.seen and not op.result.is_floating_point():
            self.used.setdefault(made.root.site, op.site)

    def findings(self, doctor):
        return [
            self.finding(site, *one)
            for site, one in self.seen.items()
            if site in self.used and one[0] > LEAST_SHARE / 10 * one[1]
        ]

    def finding(self, site, blends, pixels, most):
        fixes, call = [], places.call_at(site)
        mode = changes.keyword(call, "mode") if call is not None else None
        if isinstance(mode, ast.Constant):
            text = changes.without_keyword(site.source, call, "align_corners")
            old = site.source.segment(mode)
            fixes.append(site.source.fix(call, text.replace(f"mode={old}", 'mode="nearest"')))
        else:
            fixes.append(Fix('mode="nearest"'))
        return found(
            "classes-interpolated", "wrong result", site,
            "class numbers are averaged with their neighbours'", [
                (f"{blends:,} of {pixels:,} values of the resized map lie between class numbers "
                f"(0 to {most:.0f}) and are cut off to whole ones")
            ],
            [(self.used[site], "they become class numbers")], fixes,
        )  # fmt: skip
