"""forward() called directly: hooks that are registered do not run."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import nn

from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..calls import site_of
from ..places import found

kind(
    "forward-called-directly",
    "forward() was called directly and skipped the module's hooks",
    """
Hooks run when a module is called, model(x), not when its forward is: model.forward(x) computes the
same result and leaves all hooks out, among them those that weight_norm, spectral_norm and pruning
register. Call the module.
""",
)


@check
class DirectForward(Check):
    kinds = ("forward-called-directly",)
    needs: ClassVar = {
        "*": ("hook", 1, "no hook was registered"),
    }

    def start(self, doctor):
        self.hooked, self.sites = [], {}
        doctor.watch.on("hook", self.hook)
        self.watch = doctor.watch

    def hook(self, module):
        if not self.hooked:
            self.watch.on("op", self.op)
        self.hooked.append(module)

    def op(self, op):
        frame = op.frame
        for _ in range(3):
            if frame is None:
                return
            site = site_of(frame)
            if site not in self.sites:
                self.sites[site] = self.direct(site, frame)
            frame = frame.f_back

    def direct(self, site, frame):
        """The hooked module whose forward the call at a site names, or None."""
        call = places.call_at(site)
        if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "forward":
            return None
        owner = _value(call.func.value, frame)
        if not isinstance(owner, nn.Module):
            return None
        count = len(owner._forward_hooks) + len(owner._forward_pre_hooks)
        return (type(owner).__name__, count) if count else None

    def findings(self, doctor):
        out = []
        for site, what in self.sites.items():
            if what is None:
                continue
            call = places.call_at(site)
            text = site.source.segment(call.func.value)
            fix = Fix(f"{text}(...)", [site.source.replace((call.func, text))])
            evidence = [f"{what[0]} has {what[1]} hooks, which ran 0 times in this call"]
            title = f"{text}.forward() leaves the hooks of {what[0]} out"
            out.append(
                found("forward-called-directly", "wrong result", site, title, evidence, [], [fix])
            )
        return out


def _value(node, frame):
    """What a name or a chain of attributes stands for, without running code of the user's."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, frame)
        if isinstance(owner, nn.Module):
            return owner._modules.get(node.attr, vars(owner).get(node.attr))
        return getattr(owner, "__dict__", {}).get(node.attr)
    return None


kind(
    "hooks-pile-up",
    "A hook is registered again and again, and never removed",
    """
register_forward_hook adds one more hook at each call; those that are there stay until their handle
is removed. Registered within a function or loop, they pile up: each call of the module runs all of
them, features are collected several times, and time and memory grow. Register once, or keep the
handle and call handle.remove() when done.
""",
)
LEAST_HOOKS = 4


@check
class PileUp(Check):
    kinds = ("hooks-pile-up",)
    needs: ClassVar = {"*": ("hook", 1, "no hook was registered")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("hook", self.hook)

    def hook(self, module):
        site = places.here()
        if site is not None:
            entry = self.seen.setdefault((site, id(module)), [0, module, len(_hooks(module))])
            entry[0] += 1

    def findings(self, doctor):
        return [
            self.finding(site, count, module)
            for (site, _), (count, module, before) in self.seen.items()
            if count >= LEAST_HOOKS and len(_hooks(module)) - before >= count
        ]

    def finding(self, site, count, module):
        source, statement, fixes = site.source, site.statement, []
        if isinstance(statement, ast.Expr):
            text = source.segment(statement)
            first = source.instead(statement, f"handle = {text}")
            block = getattr(statement.parent, "body", [])
            last = block[-1] if statement in block else None
            if isinstance(last, ast.Return) and last.value is not None:
                value = source.segment(last.value)
                lines = [f"result = {value}", "handle.remove()", "return result"]
                edit = source.instead(last, "\n".join(lines))
                fixes.append(Fix("handle.remove() before it returns", [first, edit]))
            elif last is not None and last is not statement:
                edit = source.insert_after(last, "handle.remove()")
                fixes.append(Fix("handle.remove() at the end", [first, edit]))
        evidence = [
            f"{count} hooks were registered here, {len(_hooks(module))} are on it at the end"
        ]
        return found(
            "hooks-pile-up", "wrong result", site,
            f"{type(module).__name__} gets one hook more at each turn", evidence, [], fixes,
        )  # fmt: skip


def _hooks(module) -> dict:
    return module._forward_hooks
