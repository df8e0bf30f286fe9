"""New layers of a pretrained model that are frozen along with it."""

from __future__ import annotations

import ast
import weakref
from typing import ClassVar

from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "new-layer-frozen",
    "A model's new last layer was frozen with the rest, and stays random",
    """
model.fc = nn.Linear(512, 10) puts a layer of random weights into a pretrained model. A loop that
sets requires_grad = False on all of model.parameters() behind it freezes the new layer, too: it
stays as it was drawn, whatever else is trained. Freeze first and replace the layer then, or switch
it on again: model.fc.requires_grad_(True).
""",
)

LEAST_STEPS = 3


@check
class Heads(Check):
    kinds = ("new-layer-frozen",)
    needs: ClassVar = {"*": ("step", LEAST_STEPS, "fewer than 3 optimizer steps")}

    def start(self, doctor):
        self.holds, self.last, self.ends = {}, None, {}
        self.loaded, self.steps = weakref.WeakSet(), 0
        doctor.watch.on("forward", self.forward)
        doctor.watch.on("call", self.call)
        doctor.watch.on("stepped", self.stepped)
        doctor.watch.on("load_state_dict", self.load)

    def forward(self, module, args, output):
        known = self.holds.get(id(module))
        if known is None or known[0]() is not module:
            own = next(module.parameters(recurse=False), None) is not None
            known = self.holds[id(module)] = (weakref.ref(module), own)
        if known[1]:
            self.last = module

    def call(self, module, output, frame):
        """The last layer that ran in a call of a model is its head."""
        if self.last is not None and self.last is not module:
            self.ends[id(module)] = (module, self.last)
        self.last = None

    def stepped(self, optimizer):
        self.steps += 1

    def load(self, module, state, strict):
        if not hasattr(state, "keys"):
            return
        for path, part in module.named_modules():
            names = [f"{path}.{n}" if path else n for n, _ in part.named_parameters(recurse=False)]
            if names and names[0] in state:
                self.loaded.add(part)

    def findings(self, doctor):
        return [self.finding(*pair) for pair in self.ends.values()]

    def finding(self, model, head):
        weights, others = [*head.parameters()], [*model.parameters()]
        trained = [p for p in others if p.requires_grad]
        if not trained or any(p.requires_grad for p in weights) or head in self.loaded:
            return None
        made = places.built(head)
        if made is None:
            return None
        source, call = made
        target = _target(source.statement_of(call))
        is_replaced = target is not None and not _is_own(target)
        if not is_replaced and not any(m in self.loaded for m in model.modules()):
            return None
        freezing = _freezing(source, target, call.lineno)
        if freezing is None:
            return None
        count, total = sum(p.numel() for p in weights), sum(p.numel() for p in others)
        evidence = [
            (
                f"{ast.unparse(target)}: {count:,} of {total:,} values, made anew and never "
                f"loaded, did not change in {self.steps} steps; "
                f"{sum(p.numel() for p in trained):,} others are trained"
            )
        ]
        text = f"{ast.unparse(target)}.requires_grad_(True)"
        at, behind = freezing
        return found(
            "new-layer-frozen", "wrong result", (source.file, at.lineno),
            f"{ast.unparse(target)} is new, and frozen with the rest", evidence,
            [((source.file, call.lineno), "the layer is made here")],
            [Fix(text, [source.insert_after(behind, text)])],
        )  # fmt: skip


def _target(statement) -> ast.expr | None:
    """What a new layer is put into: ``model.fc``, ``model[3]``."""
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    is_place = len(targets) == 1 and isinstance(targets[0], (ast.Attribute, ast.Subscript))
    return targets[0] if is_place else None


def _is_own(target) -> bool:
    """``self.fc``: the layer belongs to the model as it is written."""
    return isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"


def _freezing(source, target, after: int):
    """(the line that freezes all of a model behind a line, the statement around it), or None."""
    if target is None:
        return None
    for node in ast.walk(source.tree):
        if getattr(node, "lineno", 0) <= after:
            continue
        whole, at = None, node
        if isinstance(node, ast.For) and called(node.iter) in ("parameters", "named_parameters"):
            at = next((s for s in node.body for s in ast.walk(s) if _freezes(s)), None)
            whole = node.iter.func.value if at is not None else None
        elif isinstance(node, ast.Call) and _freezes(node):
            whole = node.func.value
        if whole is not None and ast.unparse(target).startswith(f"{ast.unparse(whole)}."):
            return at, source.statement_of(node)
    return None


def _freezes(node) -> bool:
    """``p.requires_grad = False``, ``p.requires_grad_(False)``."""
    if isinstance(node, ast.Assign):
        name = getattr(node.targets[0], "attr", "")
        return name == "requires_grad" and ast.unparse(node.value) == "False"
    given = node.args if called(node) == "requires_grad_" else ()
    return [ast.unparse(a) for a in given] == ["False"]
