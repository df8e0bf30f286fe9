"""retain_graph=True where no second backward comes."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes, graphs
from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "graph-retained-for-nothing",
    "A graph is kept after backward and never used again",
    """
retain_graph=True keeps all saved values of a graph alive after backward, for a second backward
through the same graph. It is often added to silence "Trying to backward through the graph a second
time", and stays when it is not needed. The saved values then live until the loss is overwritten,
usually through the forward pass of the next step: two steps' worth of memory instead of one. Leave
it out; where two losses share a graph, add them up and call backward once.
""",
)

LEAST = 1024  # bytes
MOST_NODES = 3000


class Kept:
    """One retained graph: its size, and whether a later backward came by."""

    def __init__(self):
        self.nodes = self.bytes = 0
        self.first = True  # the backward that retains is under way
        self.again = False

    def __call__(self, gradients):
        self.again = self.again or not self.first


@check
class Retained(Check):
    kinds = ("graph-retained-for-nothing",)
    needs: ClassVar = {
        "*": ("backward", 2, "fewer than 2 backward calls"),
    }

    def start(self, doctor):
        self.sites, self.now = {}, None
        doctor.watch.on("backward", self.backward)
        doctor.watch.on("backward_end", self.ended)

    def backward(self, tensor, arguments):
        self.now = None
        if not arguments["retain_graph"] or arguments["create_graph"] or tensor.grad_fn is None:
            return
        site = places.here()
        entry = self.sites.setdefault(site, [0, []])
        entry[0] += 1
        if entry[0] > 4 and entry[0] & (entry[0] - 1):
            return
        kept = self.now = Kept()
        entry[1].append(kept)
        for node in graphs.nodes(tensor):
            saved = _C._saved_bytes(node)
            kept.nodes += 1
            kept.bytes += saved
            if saved and kept.nodes < MOST_NODES:
                node.register_prehook(kept)

    def ended(self, tensor, arguments, error):
        if self.now is not None:
            self.now.first = False

    def findings(self, doctor):
        out = []
        for site, (count, looks) in self.sites.items():
            idle = [k for k in looks if not k.again]
            if count >= 2 and len(idle) == len(looks) and max(k.bytes for k in looks) >= LEAST:
                out.append(self.finding(site, count, looks))
        return out

    def finding(self, site, count, looks):
        most = max(looks, key=lambda k: k.bytes)
        evidence = [
            (
                f"{count} backward calls kept their graph, up to {most.nodes:,} nodes and "
                f"{most.bytes:,} bytes of saved values; in {len(looks)} of {len(looks)} looked at "
                "no second backward came"
            )
        ]
        fixes, call = [], places.call_at(site)
        if call is not None:
            if changes.keyword(call, "retain_graph") is not None:
                text = changes.without_keyword(site.source, call, "retain_graph")
                fixes.append(site.source.fix(call, text))
            elif len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
                edit = site.source.replace((call.args[1], "False"))
                fixes.append(Fix("retain_graph False", [edit]))
        title = "retain_graph=True keeps graphs that nobody uses again"
        return found("graph-retained-for-nothing", "memory", site, title, evidence, [], fixes)
