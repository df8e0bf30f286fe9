"""Layers that a list's multiplication shares, where as many layers were meant."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import nn

from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "layers-multiplied",
    "One layer stands several times in a container, by [layer] * n",
    """
[nn.Linear(8, 8)] * 3 is a list of three times the same layer: there is one weight, used three
times, and its gradients add up. A comprehension makes a layer for each: [nn.Linear(8, 8) for _ in
range(3)]. Where sharing is meant, give the layer a name and call it in a loop.
""",
)


@check
class Multiplied(Check):
    kinds = ("layers-multiplied",)
    needs: ClassVar = {"*": ("container", 1, "no Sequential or ModuleList was made")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("container", self.container)

    def container(self, container):
        counts: dict[int, list] = {}
        for layer in container._modules.values():
            counts.setdefault(id(layer), []).append(layer)
        shared = [held for held in counts.values() if len(held) > 1 and any(_learns(held[0]))]
        site = places.here() if shared else None
        if site is not None:
            values = sum(p.numel() for held in shared for p in held[0].parameters())
            self.seen.setdefault(site, (max(map(len, shared)), len(shared), values))

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items()]

    def finding(self, site, times, layers, values):
        node = _product(site)
        if node is None:
            return None
        source = site.source
        listed, count = node.left, node.right
        if not isinstance(listed, ast.List):
            listed, count = count, listed
        parts = ", ".join(source.segment(e) for e in listed.elts)
        turns = f"for _ in range({source.segment(count)})"
        text = f"[{parts} {turns}]"
        if len(listed.elts) > 1:
            text = f"[layer {turns} for layer in ({parts})]"
        return found(
            "layers-multiplied", "wrong result", (source.file, node.lineno),
            f"a multiplied list holds one layer {times} times, not {times} layers",
            [f"{values:,} values of {layers} layers are used {times} times each"],
            [(site, "the container that got it")] if node.lineno != site.line else [],
            [source.fix(node, text)],
        )  # fmt: skip


def _learns(layer) -> list:
    return [p.requires_grad for p in layer.parameters()] if isinstance(layer, nn.Module) else []


def _product(site) -> ast.BinOp | None:
    """``[layer, ...] * n`` in a container's call, or where a name in it was bound."""
    call = places.call_at(site)
    if call is None:
        return None
    bound = [getattr(s, "value", None) for s in site.source.leading_to(call)]
    for part in [call, *filter(None, bound)]:
        for node in ast.walk(part):
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
                continue
            for side in (node.left, node.right):
                if isinstance(side, ast.List) and any(called(e) for e in side.elts):
                    return node
    return None
