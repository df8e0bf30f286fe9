"""Errors about who may require gradients: integers, results that are no leaves, hooks, numpy."""

from __future__ import annotations

import ast

from .. import changes, graphs, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised, try_calls

kind(
    "integer-requires-grad",
    "A tensor of whole numbers was to require gradients",
    """
Gradients exist for floating point and complex tensors only. Python integers make int64 tensors:
torch.tensor([1, 2, 3]) is one. Write the numbers with a point, or say dtype=torch.float32. Indices
and class labels are whole numbers and need no gradient.
""",
)
kind(
    "optimizer-non-leaf",
    "An optimizer was given a tensor that is a result, not a leaf",
    """
An optimizer changes leaves: tensors that were made with requires_grad=True, not computed from
others. `torch.rand(5, requires_grad=True).to(device)`, `.double()`, `* 0.01` or `.reshape(...)`
give a new tensor; the leaf is the one before, and nobody holds it. Do the conversion and the
scaling first and mark the result: `(torch.rand(5) * 0.01).to(device).requires_grad_()`.
""",
)
kind(
    "hook-without-grad",
    "A hook was put on a tensor that gets no gradient",
    """
A tensor's hook is called with its gradient. Data does not require one, so there is nothing to
listen to. Make the tensor with requires_grad=True, or hook what the model computes: its output, or
a parameter.
""",
)
kind(
    "numpy-of-graph",
    "numpy was asked for a tensor that is part of a graph",
    """
An array shares the tensor's memory and knows nothing of gradients, so a tensor that requires grad
does not hand it out silently. `t.detach().numpy()` says that the graph ends here. Where only
numbers are wanted (plots, metrics), compute them under torch.no_grad(): then there is no graph to
leave.
""",
)
kind(
    "grad-is-none",
    "A gradient was used that is None",
    """
`.grad` is None until a backward() has reached the tensor: before the first one, after zero_grad()
(which sets it to None), for a tensor that is no leaf, and for one that the loss does not depend
on. Zero a gradient after the update, or set it to None before backward: both are safe in the first
step.
""",
)


@explains(
    RuntimeError, r"[Oo]nly Tensors of floating point( and complex)? dtype can require gradients"
)
def integers(raised: Raised):
    """torch.tensor([1, 2], requires_grad=True), t.requires_grad_() and nn.Parameter of integers."""
    at = raised.innermost
    call = at.node
    if isinstance(call, ast.Attribute) or not isinstance(call, ast.Call):
        return _marked(raised, at)
    fixes = []
    if changes.keyword(call, "requires_grad") is not None:
        numbers = [
            n
            for argument in call.args
            for n in ast.walk(argument)
            if isinstance(n, ast.Constant) and type(n.value) is int
        ]
        torch = changes.torch_name(at.source)
        if upstream.called(call) in ("tensor", "as_tensor") and 0 < len(numbers) <= 12:
            edit = at.source.replace(*((n, f"{n.value}.0") for n in numbers))
            fixes.append(Fix("the numbers written with a point", [edit]))
        dtype = changes.with_keyword(at.source, call, "dtype", f"{torch}.float32")
        fixes.append(at.source.fix(call, dtype, call=dtype))
        evidence = [f"{at.text} would be of whole numbers, which have no gradients"]
        return raised.finding("integer-requires-grad", _TITLE, evidence=evidence, fixes=fixes)
    return _marked(raised, at)


_TITLE = "whole numbers cannot require gradients"


def _marked(raised: Raised, at):
    """An integer tensor that exists already: converted where it was made, or here."""
    named = [(part, v) for part, v in upstream.tensors(at) if not v.is_floating_point()]
    if not named:
        return None
    part, tensor = named[0]
    evidence = [f"{at.source.segment(part)} is {values.describe(tensor)}"]
    spot = upstream.of_tensor(tensor)
    if spot is None or not isinstance(spot.node, ast.Call):
        edit = changes.after(at.source, part, "float()")
        text = changes.method(at.source, part, "float()")
        return raised.finding(
            "integer-requires-grad", _TITLE, evidence=evidence, fixes=[Fix(text, [edit])]
        )
    text = changes.method(spot.source, spot.node, "float()")
    fix = spot.fix(text)
    related = at.related("the call that failed")
    return raised.finding(
        "integer-requires-grad", _TITLE, spot.place, evidence=evidence, related=related, fixes=[fix]
    )


@explains(ValueError, r"can't optimize a non-leaf Tensor")
def non_leaf(raised: Raised):
    """The tensors given to an optimizer, looked up in its constructor's groups."""
    at = raised.innermost
    given = upstream.inner(raised.error, "param_group") or upstream.inner(raised.error, "params")
    tensors = given.get("params") if isinstance(given, dict) else given
    if values.is_tensor(tensors):
        tensors = [tensors]
    wrong = [t for t in _flat(tensors) if not t.is_leaf]
    if not wrong:
        return None
    spot = upstream.of_tensor(wrong[0])
    if spot is None:
        return None
    leaf = _leaf_before(wrong[0])
    evidence = [
        (
            f"{spot.text} gives {values.describe(wrong[0])}, computed by "
            f"{type(wrong[0].grad_fn).__name__}: not a leaf"
        )
    ]
    if leaf is not None:
        evidence.append(f"the leaf is the {values.describe(leaf)} before that")
    fixes = []
    if isinstance(spot.node, ast.expr):
        fixes = _marked_last(spot)
    return raised.finding(
        "optimizer-non-leaf",
        f"{at.text} was given a result; it can only change leaves",
        spot.place,
        evidence=evidence,
        related=at.related("the optimizer that was given it"),
        fixes=fixes,
    )


def _marked_last(spot) -> list[Fix]:
    """requires_grad=True leaves the inner call, and the result is marked instead."""
    inside = [
        n
        for n in ast.walk(spot.node)
        if isinstance(n, ast.Call) and changes.keyword(n, "requires_grad") is not None
    ]
    fixes = []
    if inside:
        plain = changes.without_keyword(spot.source, inside[0], "requires_grad")
        text = changes.with_part(spot.source, spot.node, inside[0], plain)
        if not isinstance(spot.node, ast.Call):
            text = f"({text})"
        text += ".requires_grad_()"
        fixes.append(spot.fix(text))
    text = changes.method(spot.source, spot.node, "detach().requires_grad_()")
    fixes.append(spot.fix(text))
    return fixes


def _flat(given):
    if isinstance(given, dict):
        given = given.get("params", ())
    for item in given if isinstance(given, (list, tuple, set)) else ():
        if values.is_tensor(item):
            yield item
        elif isinstance(item, dict):
            yield from _flat(item)


def _leaf_before(tensor):
    held = (getattr(node, "variable", None) for node in graphs.first_way(tensor))
    return next((leaf for leaf in held if leaf is not None), None)


@explains(RuntimeError, r"cannot register a hook on a tensor that doesn't require gradient")
def hook(raised: Raised):
    """t.register_hook on data."""
    return _should_require(
        raised, "hook-without-grad", "the tensor does not require grad: no gradient to listen to"
    )


@explains(RuntimeError, r"can't retain_grad on Tensor that has requires_grad=False")
def retained(raised: Raised):
    """t.retain_grad() on data."""
    return _should_require(
        raised, "hook-without-grad", "the tensor does not require grad: none to retain"
    )


def _should_require(raised: Raised, id: str, title: str):
    at = raised.innermost
    known = upstream.tensors(at)
    if not known:
        return None
    part, tensor = known[0]
    spot = upstream.of_tensor(tensor)
    evidence = [f"{at.source.segment(part)} is {values.describe(tensor)}, requires_grad False"]
    fixes = []
    if spot is None or not isinstance(spot.node, ast.Call):
        text = f"{at.source.segment(part)}.requires_grad_()"
        edit = at.source.insert_before(at.statement, text)
        return raised.finding(id, title, evidence=evidence, fixes=[Fix(text, [edit])])
    if changes.keyword(spot.node, "requires_grad") is not None or takes_requires_grad(spot.node):
        text = changes.with_keyword(spot.source, spot.node, "requires_grad", "True")
        fixes.append(spot.fix(text))
    text = changes.method(spot.source, spot.node, "requires_grad_()")
    fixes.append(spot.fix(text))
    evidence.append(f"made at {spot.where}: {spot.text}")
    return raised.finding(
        id,
        title,
        spot.place,
        evidence=evidence,
        related=at.related("the call that failed"),
        fixes=fixes,
    )


_MAKING = frozenset(
    "tensor zeros ones full rand randn empty arange linspace eye logspace zeros_like ones_like "
    "rand_like randn_like".split()
)


def takes_requires_grad(call: ast.AST) -> bool:
    """Whether a call makes a tensor and takes requires_grad."""
    return upstream.called(call) in _MAKING


@explains(RuntimeError, r"Can't call numpy\(\) on Tensor that requires grad")
def numpy(raised: Raised):
    """t.numpy(), np.asarray(t), a plot or metric of a result of the model."""
    at = raised.innermost
    known = [(part, v) for part, v in upstream.tensors(at) if v.requires_grad]
    if not known:
        return _of_a_list(raised, at)
    part, tensor = known[0]
    node = f", grad_fn {type(tensor.grad_fn).__name__}"
    evidence = [values.sentence(at.source.segment(part), tensor, node)]
    fix = at.fix_part(part, changes.method(at.source, part, "detach()"))
    return raised.finding(
        "numpy-of-graph",
        f"{at.text}: the tensor is part of a graph",
        evidence=evidence,
        fixes=try_calls(raised, [fix]),
    )


def _of_a_list(raised: Raised, at):
    """np.mean(losses): the list got tensors where numbers were meant."""
    for part in upstream.operands(at):
        held = at.value(part, None)
        if not isinstance(held, (list, tuple)) or not any(values.is_tensor(v) for v in held):
            continue
        name = ast.unparse(part).rpartition(".")[2]
        for spot in upstream.calls(upstream.user_sources(raised), "append"):
            holder = getattr(spot.node.func, "value", None)
            if holder is None or ast.unparse(holder).rpartition(".")[2] != name:
                continue
            if len(spot.node.args) != 1:
                continue
            given = spot.node.args[0]
            method = "item()" if all(v.numel() == 1 for v in held) else "detach()"
            text = changes.method(spot.source, given, method)
            return raised.finding(
                "numpy-of-graph",
                f"{name} holds tensors with their graphs, and numpy wants numbers",
                spot.place,
                evidence=[f"{len(held)} tensors in {name}, each part of a graph"],
                related=at.related("numpy asked for them"),
                fixes=[spot.source.fix(given, text)],
            )
    return None


# ---- w.grad is None


@explains((AttributeError, TypeError), r"NoneType")
def grad_is_none(raised: Raised):
    """w.grad.zero_(), w.grad.norm(), lr * w.grad where w.grad is None."""
    at = raised.innermost
    if at.source is None or at.node is None:
        return None
    found = None
    for node in ast.walk(at.node):
        if isinstance(node, ast.Attribute) and node.attr == "grad":
            owner = upstream.value(at, node.value)
            if values.is_tensor(owner) and _grad(owner) is None:
                found = (node, owner)
                break
    if found is None:
        return None
    node, owner = found
    name = at.source.segment(node)
    why, place, related = _why_none(raised, at, node, owner)
    evidence = [f"{at.source.segment(node.value)} is {values.describe(owner)}", why]
    fixes = []
    statement = at.statement
    if upstream.called(at.node) == "zero_" or (
        isinstance(at.node, ast.Attribute) and at.node.attr == "zero_"
    ):
        text = f"{name} = None"
        edit = at.source.replace((statement, text))
        fixes.append(Fix(f"{text}: backward then makes a new one", [edit]))
    if not owner.is_leaf:
        fixes += _kept_leaf(at, node, owner) or _retained(at, node, owner)
    head = f"if {name} is not None:"
    if not isinstance(statement, (ast.For, ast.While, ast.If, ast.With, ast.Return)):
        fixes.append(Fix(head, [changes.within(at.source, statement, head)]))
    return raised.finding(
        "grad-is-none",
        f"{name} is None here",
        place,
        evidence=evidence,
        related=related,
        fixes=fixes,
    )


def _grad(tensor):
    return tensor.grad if tensor.is_leaf else None


def _why_none(raised: Raised, at, node, owner):
    name = at.source.segment(node.value)
    call = at.related("used here")
    spot = upstream.of_tensor(owner)
    if not owner.is_leaf:
        made = values.made_at(owner)
        why = f"{name} is a result, not a leaf (made at {made}): results keep no gradient"
        return why, spot.place if spot else at, call if spot else []
    if not owner.requires_grad:
        return f"{name} does not require grad", at, []
    return "no backward() has reached it yet (or zero_grad() set it to None)", at, []


def _retained(at, node, owner) -> list[Fix]:
    """retain_grad() behind the statement that made the result."""
    spot = upstream.of_tensor(owner)
    if spot is None or not isinstance(spot.statement, ast.Assign):
        return []
    name = spot.source.segment(spot.statement.targets[0])
    if name != at.source.segment(node.value):
        return []
    text = f"{name}.retain_grad()"
    return [Fix(f"{text} after it is made", [spot.source.insert_after(spot.statement, text)])]


def _kept_leaf(at, node, owner) -> list[Fix]:
    """`w = w - lr * w.grad` made w a result: the same under no_grad, in place."""
    spot = upstream.of_tensor(owner)
    if spot is None or not isinstance(spot.statement, (ast.Assign, ast.AugAssign)):
        return []
    statement = spot.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    value = statement.value
    torch = changes.torch_name(spot.source)
    operator = {ast.Sub: "-=", ast.Add: "+=", ast.Mult: "*="}
    if isinstance(value, ast.BinOp) and ast.unparse(value.left) == ast.unparse(target):
        sign = operator.get(type(value.op))
        if sign:
            new = f"{spot.source.segment(target)} {sign} {spot.source.segment(value.right)}"
            edit = spot.source.instead(statement, f"with {torch}.no_grad():\n    {new}")
            return [Fix(f"{new} under {torch}.no_grad(): the leaf stays", [edit])]
    return []
