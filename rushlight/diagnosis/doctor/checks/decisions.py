"""Decisions that always come out the same: argmax of one value, thresholds beyond the range."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "argmax-of-one-value",
    "argmax along a dimension of one entry is always 0",
    """
A model with a single output says the class by the sign of its score: (score > 0) for logits,
(probability > 0.5) behind a sigmoid. argmax(1) of a column asks which of one value is the largest,
and every sample gets class 0.
""",
)
kind(
    "threshold-never-decides",
    "Probabilities are compared with a number that all of them exceed",
    """
What comes out of a sigmoid lies between 0 and 1: `> 0` is always true. The border between
two classes is 0.5 for probabilities, and 0 for the scores before the sigmoid.
""",
)
kind(
    "logits-compared-with-half",
    "Scores are compared with 0.5, the border of probabilities",
    """
A loss "with logits" takes scores of both signs and applies the sigmoid itself: probability 0.5 is
score 0. Scores compared with 0.5 (or rounded) call every sample between 0 and 0.5 negative, though
its probability is above one half. Compare scores with 0, or sigmoid(score) with 0.5.
""",
)
LARGER, SMALLER = ("gt", "ge", "__gt__", "__ge__"), ("lt", "le", "__lt__", "__le__")
LEAST_CALLS = 2
LOGITS = "binary_cross_entropy_with_logits"


@check
class OfOne(Check):
    kinds = ("argmax-of-one-value",)
    needs: ClassVar = {"*": ("op argmax max", LEAST_CALLS, "no argmax was seen")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, ("argmax", "max"))

    def op(self, op):
        scores, dim = op.args[0] if op.args else None, op.argument(1, "dim")
        if not isinstance(scores, _C.TensorBase) or type(dim) is not int or scores.dim() < 2:
            return
        entry = self.seen.setdefault(op.site, [op, 0, True, tuple(scores.shape), dim])
        entry[1] += 1
        entry[2] = entry[2] and scores.shape[dim] == 1 and scores.shape[0] > 1

    def findings(self, doctor):
        return [
            self.finding(site, *one)
            for site, one in self.seen.items()
            if one[2] and one[1] >= LEAST_CALLS
        ]

    def finding(self, site, op, calls, _, shape, dim):
        fixes, call = [], places.call_at(site)
        inner = places.operand(site, 0)
        if inner is not None and call is not None and called(call) == "argmax" and len(shape) == 2:
            squashed = op.source is not None and op.source.root.name == "sigmoid"
            border = "0.5" if squashed else "0"
            text = f"({changes.atom(site.source, inner)}.squeeze({dim}) > {border}).long()"
            fixes.append(site.source.fix(call, text))
        return found(
            "argmax-of-one-value", "wrong number", site, "argmax of a single value is always 0",
            [f"{shape} has 1 entry in dimension {dim}: each of {calls} calls gave 0 for all"],
            [], fixes,
        )  # fmt: skip


@check
class Threshold(Check):
    kinds = ("threshold-never-decides",)
    needs: ClassVar = {"*": (f"op {' '.join(LARGER + SMALLER)}", 1, "nothing was compared")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, (*LARGER, *SMALLER))

    def op(self, op):
        border = op.args[1] if len(op.args) > 1 else None
        if type(border) not in (int, float) or op.source is None:
            return
        made = op.source.root.name
        if "sigmoid" not in made or "log" in made:
            return
        if border > 0 if op.name in LARGER else border < 1:
            return
        entry = self.seen.setdefault(op.site, [made, border, 0, 0])
        entry[2] += int(op.result.sum())
        entry[3] += op.result.numel()

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items() if one[2] == one[3] > 1]

    def finding(self, site, made, border, yes, count):
        fixes, node = [], site.node
        number = node.comparators[0] if isinstance(node, ast.Compare) else None
        if isinstance(number, ast.Constant):
            fixes.append(site.source.fix(number, "0.5"))
        return found(
            "threshold-never-decides", "wrong number", site,
            f"every probability passes the comparison with {border}",
            [f"{yes} of {count} results of {made} did, whatever the model said"], [], fixes,
        )  # fmt: skip


@check
class Half(Check):
    """Scores that a loss takes as logits, and a decision as probabilities."""

    kinds = ("logits-compared-with-half",)
    needs: ClassVar = {"*": (f"op {LOGITS}", 1, "no loss of binary logits was seen")}

    def start(self, doctor):
        self.watch, self.results, self.models, self.seen = doctor.watch, {}, {}, {}
        doctor.watch.on("call", self.call)
        doctor.watch.on("op", self.loss, (LOGITS,))
        doctor.watch.on("op", self.decide, (*LARGER, *SMALLER, "round"))

    def call(self, module, output, frame):
        calls = self.watch.calls
        made = calls.made(output) if calls is not None else None
        if made is not None:
            self.results = dict([(id(made.root), (made.root, module)), *self.results.items()][:8])

    def model_of(self, op):
        root = op.source.root if op.source is not None else None
        return self.results.get(id(root), (None, None))[1]

    def loss(self, op):
        model = self.model_of(op)
        if model is not None:
            self.models[id(model)] = model

    def decide(self, op):
        if op.name != "round" and (len(op.args) < 2 or op.args[1] != 0.5):
            return
        model = self.model_of(op)
        if model is not None:
            scores = op.args[0].detach()
            entry = self.seen.setdefault(op.site, [model, 0, 0])
            entry[1] += int(((scores > 0) & (scores <= 0.5)).sum())
            entry[2] += scores.numel()

    def findings(self, doctor):
        return [
            self.finding(site, *one[1:])
            for site, one in self.seen.items()
            if one[1] and id(one[0]) in self.models
        ]

    def finding(self, site, between, count):
        source, node, fixes = site.source, site.node, []
        number = node.comparators[0] if isinstance(node, ast.Compare) else None
        if isinstance(number, ast.Constant):
            fixes.append(source.fix(number, "0", changes.with_part(source, node, number, "0")))
        elif called(node) == "round" and (inner := places.operand(site, 0)) is not None:
            fixes.append(source.fix(node, f"({source.segment(inner)} > 0).float()"))
        return found(
            "logits-compared-with-half", "wrong number", site,
            "scores are compared with the border of probabilities",
            [
                (
                    f"{between:,} of {count:,} scores lie between 0 and 0.5: their probability is "
                    "above one half, and they were called negative"
                )
            ],
            [], fixes,
        )  # fmt: skip
