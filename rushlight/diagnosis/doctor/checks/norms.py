"""Batch norms that are frozen and go on averaging."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight.nn.modules.batchnorm import _BatchNorm

from ... import upstream
from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..calls import site_of
from ..places import found

kind(
    "frozen-norm-in-training",
    "A frozen batch norm goes on changing its averages",
    """
requires_grad=False keeps a batch norm's weight and bias; its running mean and variance are buffers,
which every pass in training mode changes, and in training mode it normalises by the batch. Frozen
layers then give other values than those they were trained with. Put the frozen part into eval mode
after each model.train().
""",
)

LEAST_PASSES = 3


@check
class Frozen(Check):
    kinds = ("frozen-norm-in-training",)
    needs: ClassVar = {"*": ("stepped", 3, "fewer than 3 optimizer steps")}

    def start(self, doctor):
        self.seen, self.modes, self.steps, self.passes = {}, {}, 0, doctor.passes
        doctor.watch.on("forward", self.forward)
        doctor.watch.on("mode", self.mode)
        doctor.watch.on("stepped", self.stepped)

    def stepped(self, optimizer):
        self.steps += 1

    def mode(self, module, training):
        frames = places.user_frames(3)
        if training and frames:
            self.modes[id(module)] = (module, site_of(frames[0]))

    def forward(self, module, args, output):
        if not isinstance(module, _BatchNorm) or not module.training or not module.affine:
            return
        if module.weight.requires_grad or module.bias.requires_grad:
            return
        if module.running_mean is not None:
            if id(module) not in self.seen:
                self.seen[id(module)] = [module, 0, self.steps, module.running_mean.clone()]
            self.seen[id(module)][1] += 1

    def findings(self, doctor):
        frozen = {i: e for i, e in self.seen.items() if e[1] >= LEAST_PASSES}
        for model in self.passes.models.values():
            names = [n for n, m in model.named_modules() if id(m) in frozen]
            learning = [p for p in model.parameters() if p.requires_grad]
            if names and learning and self.steps - frozen[next(iter(frozen))][2] >= LEAST_PASSES:
                return [self.finding(model, names, frozen)]
        return []

    def finding(self, model, names, frozen):
        passes = max(e[1] for e in frozen.values())
        moved = max(float((m.running_mean - mean).abs().max()) for m, _, _, mean in frozen.values())
        evidence = [
            f"{len(names)} frozen batch norms ({', '.join(names[:3])}) averaged {passes} batches",
            f"from the first on, their running means moved by up to {moved:.3g}",
        ]
        part = _shared([n.split(".") for n in names])
        if any(p.requires_grad for p in model.get_submodule(".".join(part)).parameters()):
            part = []
        _, site = self.modes.get(id(model), (None, None))
        fixes, at = [], site
        call = places.call_at(site) if site is not None else None
        if call is not None and isinstance(call.func, ast.Attribute):
            text = f"{_path(site.source.segment(call.func.value), part)}.eval()"
            if part:
                fixes.append(Fix(text, [site.source.insert_after(site.statement, text)]))
        else:
            sources = upstream.program_sources()
            source = next((s for s in sources if places.freezing(s) is not None), None)
            if source is None:
                return None
            node, owner = places.freezing(source)
            at = (source.file, node.lineno)
            loops = source.loops_around(node)
            held = loops[0].iter if loops and isinstance(loops[0], ast.For) else None
            if isinstance(held, ast.Call) and isinstance(held.func, ast.Attribute):
                text = f"{source.segment(held.func.value)}.eval()"
                fixes.append(Fix(text, [source.insert_after(loops[0], text)]))
            elif not loops:
                text = f"{source.segment(owner)}.eval()"
                edit = source.insert_after(source.statement_of(node), text)
                fixes.append(Fix(text, [edit]))
        return found(
            "frozen-norm-in-training", "note", at,
            "frozen batch norms run in training mode", evidence, [], fixes,
        )  # fmt: skip


def _shared(paths: list[list[str]]) -> list[str]:
    """The beginning that all have."""
    first = paths[0]
    alike = [all(p[: k + 1] == first[: k + 1] for p in paths) for k in range(len(first))]
    return first[: alike.index(False)] if False in alike else first


def _path(text: str, names: list[str]) -> str:
    """``model.features[1]`` of model and (features, 1)."""
    for name in names:
        text += f"[{name}]" if name.isdigit() else f".{name}"
    return text
