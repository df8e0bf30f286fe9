"""Triplets whose positive and negative stand in each other's place."""

from __future__ import annotations

import ast
import re
from typing import ClassVar

from rushlight import _C

from ... import construction
from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "triplet-swapped",
    "A triplet loss got the negative where it takes the positive",
    """
triplet_margin_loss(anchor, positive, negative) becomes small where the second is near the first,
and the third is far. With the last two swapped the model draws together what does not belong
together, and pushes apart what does.
""",
)

POSITIVE = re.compile(r"(?i)^(p|pos\w*|\w*_(p|pos|positives?))\d*$")
NEGATIVE = re.compile(r"(?i)^(n|neg\w*|\w*_(n|neg|negatives?))\d*$")
LEAST_TIMES = 3
LOOKS = 200


@check
class Triplets(Check):
    kinds = ("triplet-swapped",)
    needs: ClassVar = {"*": ("op triplet_margin_loss", 1, "no triplet loss was seen")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, ("triplet_margin_loss",))

    def op(self, op):
        entry = self.seen.get(op.site)
        if entry is None:
            entry = self.seen[op.site] = [_swapped(op.site), []]
        given = op.args[:3]
        if entry[0] is None or len(entry[1]) >= LOOKS or len(given) < 3:
            return
        if all(isinstance(t, _C.TensorBase) for t in given):
            anchor, *others = [t.detach() for t in given]
            entry[1].append([float((anchor - t).norm(dim=-1).mean()) for t in others])

    def findings(self, doctor):
        return [
            self.finding(site, nodes, distances)
            for site, (nodes, distances) in self.seen.items()
            if nodes is not None and len(distances) >= LEAST_TIMES
        ]

    def finding(self, site, nodes, distances):
        source, (first, last) = site.source, [site.source.segment(n) for n in nodes]
        began, ended = distances[0], distances[-1]
        evidence = [
            (
                f"in {len(distances)} losses the distance of {first} went from {began[0]:.4g} to "
                f"{ended[0]:.4g}, that of {last} from {began[1]:.4g} to {ended[1]:.4g}"
            )
        ]
        edit = source.replace((nodes[0], last), (nodes[1], first))
        return found(
            "triplet-swapped", "wrong result", site, f"{first} is drawn near, {last} pushed away",
            evidence, [], [Fix(f"{last}, then {first}", [edit])],
        )  # fmt: skip


def _swapped(site):
    """The second and third argument, where their names say that they are swapped."""
    call = places.call_at(site)
    if call is None:
        return None
    nodes = [construction.argument(call, n, name) for n, name in ((1, "positive"), (2, "negative"))]
    if None in nodes:
        return None
    is_swapped = _says(nodes[0], NEGATIVE, POSITIVE) and _says(nodes[1], POSITIVE, NEGATIVE)
    return nodes if is_swapped else None


def _says(node, word, other) -> bool:
    """Whether the names of an expression say the one, and none the other."""
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    names += [n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)]
    return any(map(word.search, names)) and not any(map(other.search, names))
