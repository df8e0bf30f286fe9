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
