"""The gradient of a result, which keeps none."""

from __future__ import annotations

import ast

from rushlight import _C

from ... import changes, upstream
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "grad-of-result",
    "The gradient of a result was read: only leaves keep one",
    """
backward() leaves gradients on leaves, the tensors that were made by hand with requires_grad. What
an operation returns is a result, also where the operation is .to(), .double(), .cuda() or a product
behind torch.randn(..., requires_grad=True): its .grad is None. Convert first and set requires_grad
last (torch.randn(3).double().requires_grad_()), or ask for the gradient with retain_grad() before
backward.
""",
)


@check
class OfResult(Check):
    kinds = ("grad-of-result",)

    def start(self, doctor):
        self.seen, self.backwards = {}, 0
        doctor.watch.on("grad_of_result", self.read)
        doctor.watch.on("backward", self.backward)

    def backward(self, tensor, arguments):
        self.backwards += 1

    def read(self, tensor):
        site = places.here()
        if site is not None and self.backwards and tensor.requires_grad:
            self.seen.setdefault(site, (_C._origin(tensor), tuple(tensor.shape)))

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items()]

    def finding(self, site, origin, shape):
        spot = upstream.of_place(origin)
        source, node = (spot.source, spot.node) if spot is not None else (None, None)
        at, fixes, related = site, [], []
        statement = spot.statement if spot is not None else None
        inner = node
        while isinstance(inner, ast.Call) and changes.keyword(inner, "requires_grad") is None:
            if called(inner) == "requires_grad_":
                break
            inner = inner.func.value if isinstance(inner.func, ast.Attribute) else None
        if isinstance(inner, ast.Call) and inner is not node:
            made = source.segment(inner)
            if called(inner) == "requires_grad_":
                plain = source.segment(inner.func.value)
            else:
                plain = changes.without_keyword(source, inner, "requires_grad")
            new = f"{plain}{source.segment(node)[len(made) :]}.requires_grad_()"
            at, related = (source.file, node.lineno), [(site, "its gradient is read here")]
            fixes.append(source.fix(node, new))
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            text = f"{statement.targets[0].id}.retain_grad()"
            fixes.append(Fix(f"{text} after it is made", [source.insert_after(statement, text)]))
            related = [((source.file, statement.lineno), "the result is made here")]
        return found(
            "grad-of-result", "wrong result", at, "a result keeps no gradient: its .grad is None",
            [f"{shape}, the result of an operation, read after {self.backwards} backward calls"],
            related, fixes,
        )  # fmt: skip
