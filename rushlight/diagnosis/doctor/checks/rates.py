"""Dropout that is given the share to keep where it takes the share to drop."""

from __future__ import annotations

import ast
import re
from typing import ClassVar

from ... import changes, construction, decided
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "dropout-given-share-to-keep",
    "Dropout's rate is the share that it keeps, and it drops nearly all",
    """
nn.Dropout(p) sets the share p of the values to zero in training; some other frameworks take the
share to keep. nn.Dropout(0.9) leaves one value of ten, and multiplies it by ten. To keep nine of
ten, write nn.Dropout(0.1), or nn.Dropout(1 - keep).
""",
)

SURE = 0.9  # from here on no name has to say so
LIKELY = 0.5
KEEPING = re.compile(r"(?i)keep|retain|kept")
LEAST_TIMES = 3


@check
class Rates(Check):
    kinds = ("dropout-given-share-to-keep",)
    needs: ClassVar = {"*": ("op dropout feature_dropout", 1, "no dropout was seen")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, ("dropout", "dropout_", "feature_dropout"))

    def op(self, op):
        rate, training = op.argument(1, "p"), op.argument(2, "training", op.kwargs.get("train"))
        if not training or not isinstance(rate, float) or not LIKELY < rate < 1:
            return
        module = op.module
        key = id(module) if module is not None else op.site
        entry = self.seen.setdefault(key, [0, rate, op.site, module, 0])
        entry[0] += 1
        entry[4] += op.result.numel()

    def findings(self, doctor):
        return [self.finding(*one) for one in self.seen.values() if one[0] >= LEAST_TIMES]

    def finding(self, times, rate, site, module, values):
        source, given, callers = _given(site, module)
        if given is None:
            return None
        is_named = isinstance(given, (ast.Name, ast.Attribute, ast.Subscript))
        if is_named and KEEPING.search(ast.unparse(given)):
            at, text = (source.file, given.lineno), f"1 - {changes.atom(source, given)}"
            fixes = [source.fix(given, text)]
        else:
            decision = decided.follow(source, given, callers)
            decision = decision.default or decision
            if rate < SURE or decision.keyword or not isinstance(decision.node, ast.Constant):
                return None
            at, fixes = decision.place, [decision.fix(f"{1 - rate:.3g}")]
        evidence = [
            (
                f"drops {rate:.0%} of the values and multiplies the rest by {1 / (1 - rate):.3g}: "
                f"about {values * (1 - rate):,.0f} of {values:,} were left in {times} passes"
            )
        ]
        return found(
            "dropout-given-share-to-keep", "wrong result", at,
            f"dropout drops {rate:.0%} of the values", evidence, [(site, "it drops here")], fixes,
        )  # fmt: skip


def _given(site, module):
    """(source, the node of the rate, who called there) of a layer, or of a call of dropout."""
    if module is not None:
        steps = construction.steps_to(module)
        if not steps:
            return None, None, []
        node = construction.argument(steps[0].call, 0, "p")
        return steps[0].source, node, steps[1:]
    call = places.call_at(site)
    given = construction.argument(call, 1, "p") if call is not None else None
    return site.source, given, []
