"""Errors of asking for gradients of gradients, of what was not used, and of copying results."""

from __future__ import annotations

import ast

from rushlight import nn

from .. import changes, construction, frames, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised

kind(
    "gradient-without-graph",
    "A gradient is differentiated again, and it was computed without a graph",
    """
torch.autograd.grad and backward give gradients without a graph. A penalty on a gradient (WGAN-GP,
PINNs, meta-learning) differentiates it once more: create_graph=True keeps what that needs.
""",
)
kind(
    "gradient-of-constant",
    "A gradient was asked with respect to a tensor that does not require grad",
    """
torch.autograd.grad(y, x) follows y back to x, and what x was used for is recorded only where x
requires grad when it is used. Set it before: x.requires_grad_() where x is made (a mixture of real
and generated samples in a gradient penalty, the points of a differential equation).
""",
)
kind(
    "gradient-of-unused",
    "A gradient was asked of a tensor that the result does not depend on",
    """
torch.autograd.grad refuses tensors that were not used: the usual reason is a wrong list, or a
branch that was not taken. allow_unused=True gives None for them.
""",
)
kind(
    "copy-of-result",
    "A result of the graph was to be deep-copied",
    """
deepcopy copies leaves only. A module that keeps a result in an attribute (self.last = out) holds
such a tensor: keep it detached, and use a local name for what goes on.
""",
)


@explains(RuntimeError, r"element 0 of tensors does not require grad")
def without_graph(raised: Raised):
    """The call of autograd.grad that the loss was computed from, with create_graph=True."""
    at = raised.innermost
    receiver = frames.receiver(at.node)
    if receiver is None or at.source is None:
        return None
    scope = at.source.function_of(at.node)
    todo = [(n.id, at.line) for n in ast.walk(receiver) if isinstance(n, ast.Name)]
    seen = set()
    while todo:
        name, line = todo.pop(0)
        if (name, line) in seen or len(seen) > 40:
            continue
        seen.add((name, line))
        statement = at.source.last_assignment(name, line, scope)
        value = getattr(statement, "value", None)
        for node in ast.walk(value) if value is not None else ():
            if upstream.called(node) == "grad" and changes.keyword(node, "create_graph") is None:
                text = changes.with_keyword(at.source, node, "create_graph", "True")
                return raised.finding(
                    "gradient-without-graph",
                    "the gradient was computed without a graph, and is differentiated again",
                    (at.file, node.lineno),
                    evidence=[f"{name} comes from line {node.lineno}: 0 graph nodes"],
                    related=at.related("the second derivative"),
                    fixes=[at.source.fix(node, text)],
                )
            if isinstance(node, ast.Name):
                todo.append((node.id, statement.lineno))
    return None


@explains(RuntimeError, r"One of the differentiated Tensors does not require grad")
def not_required(raised: Raised):
    """autograd.grad(y, x) where x was made without requires_grad."""
    at = raised.innermost
    asked = construction.argument(at.node, 1, "inputs") if isinstance(at.node, ast.Call) else None
    for part in getattr(asked, "elts", [asked] if asked is not None else []):
        held = upstream.value(at, part)
        if not values.is_tensor(held) or held.requires_grad:
            continue
        spot, place, fixes = upstream.bound(raised, at, part), at, []
        if spot is not None and isinstance(spot.node, (ast.Call, ast.BinOp)):
            place = spot.place
            text = changes.method(spot.source, spot.node, "requires_grad_()")
            fixes.append(spot.fix(text))
        return raised.finding(
            "gradient-of-constant",
            f"{at.source.segment(part)} does not require grad: no gradient can be asked of it",
            place,
            evidence=[f"{at.source.segment(part)} is {values.describe(held)}, requires_grad False"],
            related=at.related("the gradient is asked here"),
            fixes=fixes,
        )
    return None


@explains(RuntimeError, r"appears? to not have been used in the graph")
def unused(raised: Raised):
    """allow_unused=True, and which of the tensors it is."""
    at = raised.innermost
    if upstream.called(at.node) not in ("grad", "jacobian", "hessian"):
        return None
    text = changes.with_keyword(at.source, at.node, "allow_unused", "True")
    return raised.finding(
        "gradient-of-unused",
        "a gradient was asked of what the result does not depend on",
        evidence=[raised.message.split(". Set")[0][:120] + " (counted from 0)"],
        fixes=[at.fix(text, f"{text}: None for it")],
    )


@explains(RuntimeError, r"graph leaves\) support the deepcopy protocol")
def copied(raised: Raised):
    """The attribute that holds a result, detached where it is assigned."""
    at = raised.innermost
    for held in raised.held():
        for module in held.modules() if isinstance(held, nn.Module) else ():
            for name, value in vars(module).items():
                if not values.is_tensor(value) or value.grad_fn is None:
                    continue
                found = upstream.class_source(type(module))
                statements = found[0].attribute_assignments(name, found[1]) if found else []
                statements = [s for s in statements if not isinstance(s.value, ast.Constant)]
                if statements:
                    return _kept(raised, at, found[0], statements[-1], name, value)
    return _alone(raised, at)


def _alone(raised: Raised, at):
    """``copy.deepcopy(h)`` of a result itself."""
    given = at.node.args[0] if isinstance(at.node, ast.Call) and at.node.args else None
    value = upstream.value(at, given) if given is not None else None
    if getattr(value, "grad_fn", None) is None:
        return None
    text = changes.method(at.source, given, "detach().clone()")
    return raised.finding(
        "copy-of-result",
        f"{at.source.segment(given)} is a result with a graph, which cannot be deep-copied",
        evidence=[f"it is {tuple(value.shape)}, grad_fn {value.grad_fn.name()}"],
        fixes=[at.fix(text, f"{text}: its values alone")],
    )


def _kept(raised: Raised, at, source, statement, name, value):
    goal, local = ast.unparse(statement.targets[0]), f"{name}_now"
    function = source.function_of(statement)
    reads = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Attribute)
        and isinstance(n.ctx, ast.Load)
        and ast.unparse(n) == goal
        and n.lineno > statement.end_lineno
    ]
    text = f"{local} = {source.segment(statement.value)}\n{goal} = {local}.detach()"
    edits = [source.instead(statement, text)]
    edits += [source.replace((n, local)) for n in reads]
    return raised.finding(
        "copy-of-result",
        f"{goal} keeps a result with its graph, which cannot be deep-copied",
        (source.file, statement.lineno),
        evidence=[f"{goal} is {tuple(value.shape)}, grad_fn {value.grad_fn.name()}"],
        related=at.related("the copy that failed"),
        fixes=[Fix(f"{goal} = {local}.detach(), and {local} goes on", edits)],
    )
