"""forward() called directly: hooks that are registered do not run."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C, is_grad_enabled, nn

from ... import upstream
from ...finding import Fix
from ...registry import Check, check, kind
from ...source import Source
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
            fix = site.source.fix(call.func, text, f"{text}(...)")
            evidence = [f"{what[0]} has {what[1]} hooks, which ran 0 times in this call"]
            title = f"{text}.forward() leaves the hooks of {what[0]} out"
            out.append(
                found("forward-called-directly", "wrong result", site, title, evidence, [], [fix])
            )
        return out


def _value(node, frame):
    """What a name or a chain of attributes stands for, without running code of the user's."""
    if isinstance(node, ast.Name):
        return _C._locals(frame).get(node.id, frame.f_globals.get(node.id))
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


kind(
    "hook-cuts-gradient",
    "A forward hook returns its output detached, and the model goes on with that",
    """
What a forward hook returns, unless it is None, takes the place of the module's output. A hook that
is meant only to look (to keep activations, to print) and ends with return output.detach() therefore
cuts the graph: the layers before it get no gradient. Return nothing.
""",
)


@check
class Cuts(Check):
    kinds = ("hook-cuts-gradient",)
    needs: ClassVar = {"*": ("hook", 1, "no hook was registered")}

    def start(self, doctor):
        self.seen, self.hooked, self.watch = {}, [], doctor.watch
        self.models = doctor.passes.models
        doctor.watch.on("hook", self.hook)

    def hook(self, module):
        if not self.hooked:
            self.watch.on("forward", self.forward)
        if module not in self.hooked[:100]:
            self.hooked.append(module)

    def forward(self, module, args, output):
        """Looks at what a module was given: it came from a hook of the one before, detached."""
        if not is_grad_enabled():
            return
        for given in args[:2]:
            if isinstance(given, _C.TensorBase) and not given.requires_grad:
                origin = _C._origin(given)
                owner = self.owner(origin) if origin is not None else None
                if owner is not None and self.learns(owner) and _returned(origin) is not None:
                    entry = self.seen.setdefault(tuple(origin[:6]), [0, type(owner).__name__])
                    entry[0] += 1

    def learns(self, module) -> bool:
        """Whether a module learns; one without parameters does where all of its model does."""
        own = list(module.parameters())
        if own:
            return any(p.requires_grad for p in own)
        models = [m for m in self.models.values() if any(module is k for k in m.modules())]
        return bool(models) and all(p.requires_grad for m in models for p in m.parameters())

    def owner(self, origin):
        """The module in whose hook a tensor was made, or None."""
        for module in self.hooked[:100]:
            for hook in module._forward_hooks.values():
                code = getattr(hook, "__code__", None)
                if code is None or code.co_filename != origin[0]:
                    continue
                lines = [line for *_, line in code.co_lines() if line]
                if min(lines) <= origin[2] <= max(lines):
                    return module
        return None

    def findings(self, doctor):
        if not doctor.watch.count("backward"):
            return []
        return [self.finding(origin, *one) for origin, one in self.seen.items()]

    def finding(self, origin, count, name):
        source, statement = Source.of(origin[0]), _returned(origin)
        fixes = [Fix("return nothing", [source.instead(statement, "return None")])]
        evidence = [f"{count} outputs of {name} were replaced by what the hook returned, detached"]
        return found(
            "hook-cuts-gradient", "wrong result", (origin[0], origin[2]),
            "this hook's result takes the output's place and has no graph", evidence, [], fixes,
        )  # fmt: skip


def _returned(origin) -> ast.Return | None:
    """The statement with which a function returns what it made at a place, at once or by name.

    A lambda's result has none. What a hook only keeps for later may well be detached.
    """
    spot = upstream.of_place(origin)
    if spot is None:
        return None
    statement, function = spot.statement, spot.source.function_of(spot.node)
    if isinstance(statement, ast.Return):
        return statement
    if not isinstance(statement, ast.Assign) or function is None:
        return None
    names = {ast.unparse(t) for t in statement.targets}
    returns = (n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None)
    return next((r for r in returns if ast.unparse(r.value) in names), None)
