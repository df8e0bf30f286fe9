"""Names that are bound to new values which nobody gets: of a loop's parameters, of a hook's."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C, nn

from ... import changes, upstream
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "parameter-name-rebound",
    "A loop binds a parameter's name to a new tensor and leaves the parameter as it is",
    """
for p in model.parameters(): p = p - lr * p.grad computes new values and gives them the name p. The
parameter itself, which the model holds, stays as it was, and the next turn forgets the new values.
Write in place, under no_grad: p -= lr * p.grad, p.clamp_(-c, c), p.copy_(values).
""",
)

kind(
    "hook-result-lost",
    "A hook computes a new value and does not return it",
    """
A hook changes a gradient, an input or an output by what it returns. grad = grad * mask binds a name
of the hook's own; without a return, the gradient goes on as it was. End the hook with return grad.
""",
)

NEW_VALUES = frozenset(
    "add sub mul div true_divide clamp clip clamp_min clamp_max where lerp addcmul addcdiv "
    "zeros_like ones_like full_like rand_like randn_like normal detach clone".split()
)
HOOKS = (
    "register_hook", "register_forward_hook", "register_forward_pre_hook",
    "register_full_backward_hook",
)  # fmt: skip
LEAST_TIMES = 2
MOST = 64  # turns of which values are compared


class _Rebinding:
    """A statement ``name = ...`` whose name nobody reads afterwards."""

    def __init__(self, site, name):
        self.site, self.name, self.function = site, name, None
        self.times = self.changed = self.values = 0

    def ran(self, before, result):
        self.times += 1
        if self.times <= MOST and result.shape == before.shape:
            self.changed += int((result != before).sum())
            self.values += before.numel()


@check
class Rebound(Check):
    kinds = ("parameter-name-rebound",)
    needs: ClassVar = {"*": ("backward", 1, "no backward ran")}

    def start(self, doctor):
        self.lines = {}
        doctor.watch.on("backward", lambda tensor, arguments: None)
        doctor.watch.on("op", self.op, NEW_VALUES)

    def op(self, op):
        line = self.lines.get(op.site, self)
        if line is self:
            line = self.lines[op.site] = _rebinding(op.site)
        if line is None:
            return
        held = _C._locals(op.frame).get(line.name)
        is_leaf = getattr(held, "requires_grad", False) and held.is_leaf
        if is_leaf or isinstance(held, nn.Parameter):
            line.ran(held, op.result)

    def findings(self, doctor):
        lines = [line for line in self.lines.values() if line is not None]
        return [self.finding(one) for one in lines if one.times >= LEAST_TIMES and one.changed]

    def finding(self, line):
        source, name, statement = line.site.source, line.name, line.site.statement
        evidence = [
            (
                f"run {line.times} times: {line.changed:,} of {line.values:,} new values differ "
                "from the parameter's own, and none of them reached it"
            )
        ]
        text = _in_place(source, statement, name)
        fix = Fix(text, [source.instead(statement, text)])
        if places.no_grad_around(source, statement) is None:
            head = f"with {changes.torch_name(source)}.no_grad():"
            edit = source.instead(statement, f"{head}\n    {text}")
            fix = Fix(f"{text}, under no_grad", [edit])
        return found(
            "parameter-name-rebound", "wrong result", line.site,
            f"{name} is bound to new values, and the parameter stays as it is", evidence, [], [fix],
        )  # fmt: skip


def _rebinding(site) -> _Rebinding | None:
    statement = site.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return None
    name, source = targets[0].id, site.source
    if site.node is not statement.value:
        return None
    loops, function = source.loops_around(statement), source.function_of(statement)
    if loops and isinstance(loops[0], ast.For) and name in _names(loops[0].target):
        block = loops[0].body
    elif function is not None and name in [a.arg for a in function.args.args]:
        block = [function] if loops else function.body  # what is read above runs again, too
    else:
        block = _aliased(source, statement, name, function)
    names = (n for part in block for n in ast.walk(part) if isinstance(n, ast.Name))
    first = 0 if block == [function] else statement.end_lineno
    inside = {n for n in ast.walk(statement) if isinstance(n, ast.Name)}
    later = [n for n in names if n.id == name and n.lineno > first and n not in inside]
    return None if any(not _is_cleared(n) for n in later) or not block else _Rebinding(site, name)


def _names(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _aliased(source, statement, name: str, function) -> list:
    """The block of ``w = self.w`` in a loop before ``w = ...`` in the same block."""
    body = getattr(statement.parent, "body", [])
    bound = source.last_assignment(name, statement.lineno, function)
    if bound not in body or not isinstance(bound, ast.Assign) or not source.loops_around(bound):
        return []
    values = bound.value.elts if isinstance(bound.value, ast.Tuple) else [bound.value]
    of = [v for v in values if getattr(places.bound_to(v), "id", None) == name]
    is_alias = len(of) == 1 and isinstance(of[0], (ast.Attribute, ast.Subscript))
    return body if is_alias else []


def _is_cleared(node: ast.Name) -> bool:
    """``p.grad = None``: nothing is read, and it is said of the new tensor, too."""
    parent = node.parent
    return isinstance(parent, ast.Attribute) and isinstance(parent.ctx, ast.Store)


def _in_place(source, statement: ast.Assign, name: str) -> str:
    """The statement as one that writes into what it names: ``p -= ...``, ``p.clamp_(...)``."""
    value = statement.value
    sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}.get(
        type(getattr(value, "op", None))
    )
    if sign and ast.unparse(value.left) in (name, f"{name}.data"):
        return f"{name} {sign}= {source.segment(value.right)}"
    func = getattr(value, "func", None)
    held = getattr(func, "value", None)
    if held is not None and ast.unparse(held) in (name, f"{name}.data"):
        given = ", ".join(changes.arguments(source, value))
        return f"{name}.{called(value)}_({given})"
    return f"{name}.copy_({source.segment(value)})"


@check
class Unreturned(Check):
    kinds = ("hook-result-lost",)
    needs: ClassVar = {"*": ("backward", 1, "no backward ran")}

    def start(self, doctor):
        self.lines = {}
        doctor.watch.on("backward", lambda tensor, arguments: None)
        doctor.watch.on("op", self.op, NEW_VALUES)

    def op(self, op):
        line = self.lines.get(op.site, self)
        if line is self:
            line = self.lines[op.site] = _in_hook(op.site)
        held = op.frame.f_locals.get(line.name) if line is not None else None
        if isinstance(held, _C.TensorBase):
            line.ran(held, op.result)

    def findings(self, doctor):
        lines = [line for line in self.lines.values() if line is not None]
        return [self.finding(one) for one in lines if one.times >= LEAST_TIMES and one.changed]

    def finding(self, line):
        source, name, function = line.site.source, line.name, line.function
        evidence = [
            (
                f"run {line.times} times: {line.changed:,} of {line.values:,} new values differ "
                "from the old ones, and the hook returned None each time"
            )
        ]
        text = f"return {name}"
        return found(
            "hook-result-lost", "wrong result", line.site,
            f"{function.name} computes a new {name} and does not return it", evidence, [],
            [Fix(text, [source.insert_after(function.body[-1], text)])],
        )  # fmt: skip


def _in_hook(site) -> _Rebinding | None:
    """A new value for a hook's own argument, which is the last that the hook does."""
    source, statement = site.source, site.statement
    function = source.function_of(statement) if statement is not None else None
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    if function is None or len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return None
    name = targets[0].id
    if name not in [a.arg for a in function.args.args] or site.node is not statement.value:
        return None
    inner = list(ast.walk(function))
    is_read = any(
        isinstance(n, ast.Name) and n.id == name and n.lineno > statement.end_lineno for n in inner
    )
    if is_read or any(isinstance(n, ast.Return) and n.value is not None for n in inner):
        return None
    given = [a for c in upstream.calls([source], *HOOKS) for a in c.node.args[:1]]
    if not any(ast.unparse(a).rpartition(".")[2] == function.name for a in given):
        return None
    line = _Rebinding(site, name)
    line.function = function
    return line
