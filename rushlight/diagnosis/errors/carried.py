"""A value of the step before that still carries its graph: which name brought it along."""

from __future__ import annotations

import ast

import rushlight
from rushlight import nn

from .. import changes, frames, upstream, values
from ..finding import Fix, Related
from ..registry import kind
from ..source import value_of
from . import Raised
from .collected import collected

kind(
    "graph-carried-over",
    "A value of the step before still carries its graph into this one",
    """
backward() frees what the graph had saved. A hidden state, a running loss or a moving average that
is handed from one step to the next brings the old graph along, and the next backward() runs into
it. Detach it where it is handed on (`h = h.detach()`): gradients then end at the step's boundary,
as truncated backpropagation means it. retain_graph=True would only make the graph, time and memory
grow with each step.
""",
)


def carried(raised: Raised, at, entered, evidence):
    """The names that the entering expression reads and that a step before assigned."""
    spots = [spot for spot in _assigned_later(raised, entered) if _detached(raised, spot)]
    if not spots:
        listed = collected(raised, at, entered, evidence)
        return listed or _from_caller(raised, at, entered, evidence)
    first, fixes = spots[0], [fix for spot in spots for fix in _detached(raised, spot)]
    ignored = _ignored(raised, spots, at, evidence)
    if ignored is not None:
        return ignored
    return raised.finding(
        "graph-carried-over",
        f"{first.text} comes from the step before with its graph",
        (first.file, entered.line if first.statement is entered.statement else first.line),
        evidence=[
            *evidence,
            f"{first.text} is read by {entered.named} and carries the old graph",
        ],
        related=at.related("the second backward"),
        fixes=fixes,
    )


def _ignored(raised: Raised, spots, at, evidence):
    """``h.detach()`` as a statement: its result is thrown away."""
    for spot in spots:
        source, name = spot.source, ast.unparse(spot.node)
        for node in ast.walk(source.function_of(spot.node) or source.tree):
            call = node.value if isinstance(node, ast.Expr) else None
            holder = frames.receiver(call) if frames.called(call) == "detach" else None
            if holder is None or ast.unparse(holder) != name:
                continue
            text = f"{name} = {source.segment(call)}"
            return raised.finding(
                "graph-carried-over",
                f"{name}.detach() returns a new tensor, and nothing takes it",
                (source.file, node.lineno),
                evidence=[*evidence, f"{name} itself keeps its graph"],
                related=at.related("the second backward"),
                fixes=[source.fix(node, text)],
            )
    return None


def _assigned_later(raised: Raised, entered) -> list[upstream.Spot]:
    """Where an expression's values were read from a name that the step before assigned.

    A local name is carried by a loop that runs the backward, too; other locals begin anew in each
    call, and are followed to the attribute of self that they were read from.
    """
    source, statement = entered.source, entered.statement
    function, loops = source.function_of(statement), source.loops_around(statement)
    turns = [loop for loop in loops if _runs_backward(raised, source, loop)]
    target = getattr(statement, "target", None) if isinstance(statement, ast.AugAssign) else None
    if isinstance(target, ast.Attribute) or (isinstance(target, ast.Name) and turns):
        spot = upstream.Spot(source, target)
        return [spot] if _may_have_graph(raised, spot) else []
    found = []
    for node in ast.walk(entered.node):
        if not isinstance(getattr(node, "ctx", None), ast.Load) or _is_called(node):
            continue
        if isinstance(node, ast.Name) and turns:
            bound = source.assignments(node.id, function)
            if any(_is_carried_by(loop, bound, statement) for loop in turns):
                found.append(upstream.Spot(source, node))
        elif isinstance(node, ast.Name) and function is not None:
            before = source.last_assignment(
                node.id, loops[-1].lineno if loops else statement.lineno, function
            )
            value = getattr(before, "value", None)
            for part in ast.walk(value) if value is not None else ():
                if _is_kept(source, part, before):
                    found.append(upstream.Spot(source, part))
        elif _is_kept(source, node, statement):
            found.append(upstream.Spot(source, node))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            again = any(node.value.id in _subscript_targets(loop) for loop in turns)
            found += [upstream.Spot(source, node)] * again
    return [spot for spot in found if _may_have_graph(raised, spot)]


def _runs_backward(raised: Raised, source, loop) -> bool:
    """Whether one of the running frames stands in a loop: each turn then ends in a backward."""
    return any(
        f.file == source.file and loop.lineno <= f.line <= loop.end_lineno for f in raised.frames
    )


def _is_kept(source, node: ast.AST, statement: ast.stmt) -> bool:
    """Whether ``self.NAME`` is read before this step assigns it, and assigned after __init__."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    owner = source.class_of(node)
    if owner is None or node.value.id != "self":
        return False
    statements = source.attribute_assignments(node.attr, owner)
    function = source.function_of(statement)
    loops = source.loops_around(statement)
    again = [s for s in statements if not _is_constructor(source, s)]
    before = [
        s
        for s in again
        if source.function_of(s) is function
        and s.lineno < statement.lineno
        and (not loops or _is_within(s, loops[-1]))
    ]
    return bool(again) and not before


def _may_have_graph(raised: Raised, spot) -> bool:
    held = upstream.current(raised, spot)
    if isinstance(held, (int, float, str)):
        return False
    return not (values.is_tensor(held) and not held.requires_grad)


def _is_called(node: ast.AST) -> bool:
    parent = getattr(node, "parent", None)
    return isinstance(parent, ast.Call) and parent.func is node


def _is_within(node: ast.AST, loop: ast.AST) -> bool:
    return loop.lineno <= node.lineno <= loop.end_lineno and node is not loop


def _is_carried_by(loop, bound: list, statement) -> bool:
    """Whether a loop binds a name, and in each turn only after a statement has read it."""
    inside = [s for s in bound if _is_within(s, loop)]
    return bool(inside) and not any(s.lineno < statement.lineno for s in inside)


def _is_constructor(source, statement) -> bool:
    function = source.function_of(statement)
    return function is None or function.name == "__init__"


def _subscript_targets(loop) -> set:
    return {
        t.value.id
        for s in ast.walk(loop)
        if isinstance(s, ast.Assign)
        for t in s.targets
        if isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name)
    }


def _detached(raised: Raised, spot) -> list[Fix]:
    """The name detached where it is read; a tuple of tensors (an LSTM's state) item by item."""
    source, node = spot.source, spot.node
    name = source.segment(node)
    statement = spot.statement
    if isinstance(statement, ast.AugAssign) and node is statement.target:
        alone = _alone(raised, source, statement)
        if alone is not None:
            return [alone]
        value = changes.atom(source, statement.value)
        return [
            source.fix(statement.value, f"{value}.detach()", f"{name} += {value}.detach()"),
            Fix(
                f"{name} = {name}.detach() before it",
                [source.insert_before(statement, f"{name} = {name}.detach()")],
            ),
        ]
    plain = f"{name}.detach()"
    each = f"tuple(s.detach() for s in {name})"
    options = [plain, each]
    held = upstream.current(raised, spot)
    if isinstance(held, (tuple, list)):
        options = [each]
    elif values.is_tensor(held):
        options = [plain]
    fixes = [source.fix(node, text) for text in options]
    first = _guarded_first(spot, options)
    return [*first, *fixes] if first else fixes


def _alone(raised: Raised, source, statement: ast.AugAssign) -> Fix | None:
    """backward() of this step's loss, not of the sum; the sum only counts."""
    at = raised.innermost
    loss = receiver(at.statement)
    if at.file != source.file or loss is None:
        return None
    total = source.segment(statement.target)
    if ast.unparse(loss) != ast.unparse(statement.target):
        return None
    text = f"loss = {source.segment(statement.value)}\n{total} += loss.detach()"
    edits = [source.instead(statement, text), source.replace((loss, "loss"))]
    return Fix("loss.backward(), and the sum detached", edits)


def _guarded_first(spot, options: list[str]) -> list[Fix]:
    """Where the state begins as None, only what is not None can be detached."""
    source, node = spot.source, spot.node
    name = source.segment(node)
    begins = []
    if isinstance(node, ast.Name):
        begins = [value_of(s) for s in source.assignments(node.id, source.function_of(node))]
    elif isinstance(node, ast.Attribute) and source.class_of(node) is not None:
        bound = source.attribute_assignments(node.attr, source.class_of(node))
        begins = [upstream.attribute_value(s, node.attr) for s in bound]
    if not any(isinstance(value, ast.Constant) and value.value is None for value in begins):
        return []
    fixes = []
    for text in options:
        whole = f"{name} if {name} is None else {text}"
        parent = getattr(node, "parent", None)
        if not isinstance(parent, (ast.Call, ast.Assign)):
            whole = f"({whole})"
        fixes.append(source.fix(node, whole))
    return fixes


def _from_caller(raised: Raised, at, entered, evidence):
    """The old value came in as an argument: the calling expression's names, frame by frame."""
    function = entered.source.function_of(entered.node)
    if function is None:
        return None
    for source in upstream.user_sources(raised):
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Call) or not source.loops_around(node):
                continue
            if not _calls(raised, source, node, entered):
                continue
            spot = upstream.Spot(source, node)
            for read in _assigned_later(raised, spot):
                return raised.finding(
                    "graph-carried-over",
                    f"{read.text} comes from the step before with its graph",
                    spot.place,
                    evidence=[*evidence, f"{read.text} is handed to {spot.named}"],
                    related=[
                        Related(entered.file, entered.line, "reads the old value"),
                        *at.related("the second backward"),
                    ],
                    fixes=_detached(raised, read),
                )
    return None


def _calls(raised: Raised, source, call: ast.Call, entered) -> bool:
    """Whether a call may run the function that was entered: by name, or a module its forward."""
    function, name = entered.source.function_of(entered.node), upstream.called(call)
    if name == function.name:
        return True
    owner = entered.source.class_of(function)
    if function.name != "forward" or owner is None:
        return False
    held = upstream.current(raised, upstream.Spot(source, call.func))
    if isinstance(held, nn.Module):
        return any(type(m).__name__ == owner.name for m in held.modules())
    return held is None and not hasattr(rushlight.Tensor, name)


# ---- The call of backward


def root_of(raised: Raised):
    """The tensor with a graph that the failing backward was called on."""
    for _, tensor in upstream.tensors(raised.innermost):
        if tensor.grad_fn is not None:
            return tensor
    given = upstream.inner(raised.error, "tensors")
    given = given[0] if isinstance(given, (list, tuple)) and given else given
    return given if values.is_tensor(given) and given.grad_fn is not None else None


def backward_of(statement: ast.stmt):
    """The call ``loss.backward(...)`` that a statement consists of, or None."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    plain = upstream.called(call) == "backward" and isinstance(call.func, ast.Attribute)
    return call if plain else None


def receiver(statement: ast.stmt):
    """The loss of a statement ``loss.backward()`` without arguments, or None."""
    call = backward_of(statement)
    return call.func.value if call is not None and not call.args and not call.keywords else None
