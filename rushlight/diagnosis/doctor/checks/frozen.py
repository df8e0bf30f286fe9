"""Freezing that freezes nothing: requires_grad set on a module."""

from __future__ import annotations

import ast
import sys
from typing import ClassVar

from ... import frames, upstream
from ...finding import Fix
from ...registry import Check, check, kind
from ...source import Source
from ..places import found

kind(
    "freeze-without-effect",
    "requires_grad was set on a module, which has no such switch",
    """
requires_grad belongs to tensors. module.requires_grad = False makes a plain attribute that nothing
reads, and all parameters go on learning. module.requires_grad_(False), with the underscore, sets it
on each of them.
""",
)


@check
class OnModule(Check):
    kinds = ("freeze-without-effect",)
    needs: ClassVar = {"*": ("step", 1, "no optimizer stepped")}

    def start(self, doctor):
        self.passes = doctor.passes
        doctor.watch.on("step", lambda optimizer: None)

    def findings(self, doctor):
        out = []
        for model in self.passes.models.values():
            for name, module in model.named_modules():
                wanted = vars(module).get("requires_grad")
                learning = [p for p in module.parameters() if p.requires_grad != wanted]
                if type(wanted) is bool and learning and not out:
                    out.append(self.finding(name, module, wanted, len(learning)))
        return [f for f in out if f is not None]

    def finding(self, name, module, wanted, count):
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        files = [f for f in (main, *upstream.imported_files()) if f and frames.is_user_path(f)]
        for source in filter(None, map(Source.of, dict.fromkeys(files))):
            for node in ast.walk(source.tree):
                target = node.targets[0] if isinstance(node, ast.Assign) else None
                named = isinstance(target, ast.Attribute) and target.attr == "requires_grad"
                if not named or ast.unparse(node.value) != str(wanted) or _of_parameter(target):
                    continue
                text = f"{source.segment(target.value)}.requires_grad_({wanted})"
                return found(
                    "freeze-without-effect", "wrong result", (source.file, node.lineno),
                    f"{type(module).__name__} has no switch requires_grad: its parameters have",
                    [f"{count} parameters of {name or 'it'} go on with requires_grad {not wanted}"],
                    [], [Fix(text, [source.replace((node, text))])],
                )  # fmt: skip
        return None


def _of_parameter(target: ast.Attribute) -> bool:
    """Whether the tensor of ``p.requires_grad = False`` comes from a loop over parameters."""
    node = target
    while node is not None and isinstance(target.value, ast.Name):
        if isinstance(node, ast.For) and "parameters" in ast.unparse(node.iter):
            return target.value.id in ast.unparse(node.target)
        node = getattr(node, "parent", None)
    return ast.unparse(target.value).endswith((".weight", ".bias"))
