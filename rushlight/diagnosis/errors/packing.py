"""Errors of lengths and dimensions: packed sequences, permute, bmm, optimizers' states."""

from __future__ import annotations

import ast

from .. import changes, upstream, values
from ..registry import explains, kind
from . import Raised, try_calls

kind(
    "sequence-lengths",
    "The lengths of packed sequences are not in order, or one is 0",
    """
pack_padded_sequence wants lengths from the longest to the shortest unless enforce_sorted=False
tells it to sort. A sequence of length 0 cannot be packed: leave such rows out, or count at least
one (the padding) as theirs.
""",
)
kind(
    "dimensions-count",
    "A call names another number of dimensions than the tensor has",
    """
permute names all dimensions of a tensor, so one with a batch needs that, too: (0, 3, 1, 2). bmm and
baddbmm want three dimensions each; torch.matmul takes any number of them.
""",
)
kind(
    "optimizer-state-differs",
    "An optimizer's saved state is of another model",
    """
load_state_dict of an optimizer pairs saved state and parameters by their place. A state that was
saved for another set of parameters does not fit: build the optimizer as it was when the state was
saved (same layers, same groups), or begin with a fresh state.
""",
)


@explains(
    RuntimeError, r"must be sorted in decreasing order|Length of all samples has to be greater"
)
def lengths(raised: Raised):
    """enforce_sorted=False, or lengths of at least one."""
    at = raised.innermost
    node = at.node
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    given = upstream.value(at, node.args[1])
    evidence = [f"the lengths are {_shown(given)}"]
    if "sorted" in raised.message:
        text = changes.with_keyword(at.source, node, "enforce_sorted", "False")
        fixes = [at.source.fix(node, text, call=text)]
        title = "the sequences do not come longest first"
    else:
        part = node.args[1]
        fixes = [at.fix_part(part, changes.method(at.source, part, "clamp(min=1)"))]
        title = "a sequence of length 0 cannot be packed"
    return raised.finding(
        "sequence-lengths", title, evidence=evidence, fixes=try_calls(raised, fixes)
    )


def _shown(given) -> str:
    listed = given.tolist() if values.is_tensor(given) else list(given or ())
    return ", ".join(map(str, listed[:8])) + (", ..." if len(listed) > 8 else "")


@explains(
    RuntimeError,
    r"permute\(.*\): number of dimensions in the tensor input does not match"
    r"|batch[12] must be a 3D tensor|tensors? must be 3D",
)
def dimensions(raised: Raised):
    """The batch that permute leaves out; matmul for bmm."""
    at, node = raised.innermost, raised.innermost.node
    known = upstream.tensors(at)
    if not isinstance(node, ast.Call) or not known:
        return None
    part, tensor = known[0]
    name = upstream.called(node)
    fixes = []
    if name == "permute":
        numbers = [a for a in node.args if a is not part]
        if numbers and isinstance(numbers[-1], (ast.Tuple, ast.List)):
            numbers = numbers[-1].elts
        order = [upstream.value(at, n) for n in numbers]
        if tensor.dim() == len(order) + 1 and all(type(n) is int and n >= 0 for n in order):
            new = ", ".join(map(str, [0, *(n + 1 for n in order)]))
            text = f"{changes.atom(at.source, part)}.permute({new})"
            fixes.append(at.source.fix(node, text, f"{text}: the batch stays first", call=text))
    elif name in ("bmm", "baddbmm"):
        text = f"{changes.torch_name(at.source)}.matmul(" + ", ".join(
            at.source.segment(p) for p, _ in known[:2]) + ")"  # fmt: skip
        fixes.append(at.source.fix(node, text, call=text))
    rows = [(at.source.segment(p), values.describe(v), values.made_at(v) or "") for p, v in known]
    return raised.finding(
        "dimensions-count",
        f"{name} does not fit a tensor of {tensor.dim()} dimensions",
        evidence=values.table(rows),
        fixes=try_calls(raised, fixes),
    )


@explains(ValueError, r"loaded state dict (contains a parameter group|has a different number)")
def optimizer_state(raised: Raised):
    """How many parameters the state knows, and how many the optimizer holds."""
    at = raised.innermost
    if not isinstance(at.node, ast.Call) or not at.node.args:
        return None
    holder = upstream.value(at, getattr(at.node.func, "value", at.node))
    state = upstream.value(at, at.node.args[0])
    try:
        saved = [len(g["params"]) for g in state["param_groups"]]
        mine = [len(g["params"]) for g in holder.param_groups]
    except (KeyError, TypeError, AttributeError):
        return None
    evidence = [f"parameters by group: {saved} in the state, {mine} in {type(holder).__name__}"]
    fixes = [at.source.fix(at.statement, "pass", "without loading it: the averages begin anew")]
    return raised.finding(
        "optimizer-state-differs",
        "the saved state belongs to another set of parameters",
        evidence=evidence,
        fixes=fixes,
    )
