"""Custom autograd functions whose backward does not fit their forward."""

from __future__ import annotations

import ast
from typing import ClassVar

from ... import trial, upstream
from ...finding import Fix
from ...registry import Check, check, kind
from ..places import found

kind(
    "function-ignores-gradient",
    "A custom backward does not use the gradient that comes in",
    """
backward gets the gradient of the loss with respect to the function's result, and has to return that
gradient times the function's own derivative. A backward that returns the derivative alone is right
only where the function is the last step; all that follows it is lost. The check calls backward on
inputs the program used, with a gradient and with twice that gradient: the results must differ by
the factor two.
""",
)
kind(
    "function-wrong-gradient",
    "A custom backward disagrees with the slope of its forward",
    """
The gradient that backward returns was compared with differences of forward at inputs that the
program used, in float64. They disagree. Forwards that are flat or the identity (rounding, gradient
reversal and the like), whose backward is something else on purpose, are not compared. See
torch.autograd.gradcheck.
""",
)


@check
class Functions(Check):
    kinds = ("function-ignores-gradient", "function-wrong-gradient")
    needs: ClassVar = {
        "*": ("apply", 1, "no custom autograd function ran"),
    }

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("apply", self.apply)

    def apply(self, function, args, result):
        import rushlight as torch

        if function in self.seen or not isinstance(result, torch.Tensor):
            return
        if not function.__module__ or function.__module__.startswith("rushlight"):
            return
        kept = []
        for a in args:
            if isinstance(a, torch.Tensor):
                if a.numel() > 20_000 or a.device.type != "cpu":
                    return
                a = a.detach().clone().requires_grad_(a.requires_grad)
            elif callable(a):
                return
            kept.append(a)
        self.seen[function] = kept

    def findings(self, doctor):
        out = []
        for function, args in self.seen.items():
            what = trial.apart(lambda f=function, a=args: _compare(f, a), 1.0)
            if what is not None:
                out.append(self.finding(function, *what))
        return out

    def finding(self, function, ignored, evidence):
        code, fixes = function.backward.__code__, []
        source, definition = upstream.definition(function.backward) or (None, None)
        at = (source.file, definition.lineno) if source else (code.co_filename, code.co_firstlineno)
        walked = ast.walk(definition) if definition is not None else ()
        returns = [n for n in walked if isinstance(n, ast.Return)]
        if returns:
            at = (source.file, returns[-1].lineno)
            if ignored and returns[-1].value is not None and definition.args.args[1:]:
                fixes = [_multiplied(source, returns[-1].value, definition.args.args[1].arg)]
        id = "function-ignores-gradient" if ignored else "function-wrong-gradient"
        said = "ignores the gradient that comes in" if ignored else "disagrees with its forward"
        title = f"{function.__name__}.backward {said}"
        return found(id, "wrong result", at, title, [evidence], [], fixes)


def _multiplied(source, value: ast.expr, gradient: str) -> Fix:
    """What a backward returns first, times the gradient that comes in."""
    first = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
    text = source.segment(first)
    product = isinstance(first, ast.BinOp) and isinstance(first.op, (ast.Mult, ast.Div, ast.Pow))
    if not product and not isinstance(first, (ast.Name, ast.Call, ast.Attribute)):
        text = f"({text})"
    return source.fix(first, f"{gradient} * {text}")


def _compare(function, args):
    """(whether the incoming gradient is ignored, evidence) or None where all is well."""
    import rushlight as torch

    inputs = [a for a in args if isinstance(a, torch.Tensor) and a.is_floating_point()]
    wide = [
        a.double().detach().requires_grad_(True) if any(a is i for i in inputs) else a for a in args
    ]
    places_ = [k for k, a in enumerate(args) if any(a is i for i in inputs)]
    with torch.enable_grad():
        out = function.apply(*wide)
        if not isinstance(out, torch.Tensor) or not out.is_floating_point():
            return None
        where = [wide[k] for k in places_]
        torch.manual_seed(3)
        v = torch.rand_like(out) + 0.5
        one = torch.autograd.grad(out, where, v, retain_graph=True, allow_unused=True)
        out = function.apply(*wide)
        two = torch.autograd.grad(out, where, 2 * v, allow_unused=True)
    for k, a, b in zip(places_, one, two, strict=True):
        if a is None or not bool((a != 0).any()):
            continue
        same_as_input = out.shape == wide[k].shape and torch.equal(out.detach(), wide[k].detach())
        if same_as_input:
            continue
        if torch.allclose(a, b, rtol=1e-6):
            return (
                True,
                f"twice the incoming gradient gave the same result, {float(a.abs().max()):.3g}",
            )
        slope = _slope(function, wide, k, v)
        if slope is None:
            continue
        direction, numeric, rough = slope
        mine = float((a * direction).sum())
        if not rough and abs(mine - numeric) > 1e-3 * max(abs(mine), abs(numeric), 1e-6):
            return (
                False,
                f"along one direction backward says {mine:.5g}, forward changes by {numeric:.5g}",
            )
    return None


def _slope(function, args, place, v):
    """The slope of sum(v * f) along a direction, and whether f is flat or not smooth there."""
    import rushlight as torch

    direction = torch.rand_like(args[place]) + 0.5
    values = []
    with torch.no_grad():
        for step in (1e-4, -1e-4, 2e-4, -2e-4, 0.0):
            changed = list(args)
            changed[place] = args[place] + step * direction
            values.append(float((v * function.apply(*changed)).sum()))
    near, far = (values[0] - values[1]) / 2e-4, (values[2] - values[3]) / 4e-4
    right, left = (values[0] - values[4]) / 1e-4, (values[4] - values[1]) / 1e-4
    rough = abs(near) < 1e-9 or abs(near - far) > 1e-3 * max(abs(near), abs(far))
    rough = rough or abs(right - left) > 1e-2 * max(abs(right), abs(left))  # a bend at this point
    return direction, near, rough
