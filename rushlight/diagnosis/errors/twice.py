"""A second backward through a graph that was freed: what was carried over, or shared."""

from __future__ import annotations

import ast

from rushlight import _C

from .. import changes, graphs, upstream, values
from ..finding import Edit, Fix, Related
from ..registry import explains, kind
from . import Raised

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
kind(
    "backward-twice",
    "Two losses share a part of the graph, and the first backward freed it",
    """
Two losses computed from one encoder's output share the encoder's graph. Add them and call backward
once: the gradients are the same, with one pass. Where both passes have to be separate, the first
needs retain_graph=True, and its saved values live longer. Where the second loss must not train the
shared part (a discriminator's loss and its generator), detach there. Calling backward() twice on
one loss needs retain_graph=True, or is a mistake.
""",
)


@explains(RuntimeError, r"Trying to backward through the graph a second time")
def twice(raised: Raised):
    """Which nodes were freed, by which line, and where this graph runs into them."""
    at = raised.innermost
    root = next((v for _, v in upstream.tensors(at) if v.grad_fn is not None), None)
    if root is None:
        given = upstream.inner(raised.error, "tensors")
        root = given[0] if isinstance(given, (list, tuple)) and given else given
    if not values.is_tensor(root) or root.grad_fn is None:
        return None
    freed = graphs.asked_again(root)
    if freed is None:
        return None
    freed_by = upstream.of_place(_C._freed_by(freed))
    made, ways = upstream.of_place(_C._origin(freed)), graphs.ways_into(root, freed)
    spots = [upstream.of_place(_C._origin(node)) for node, _ in ways]
    entered = next((spot for spot in spots if spot is not None), None)
    evidence = []
    if made is not None:
        evidence.append(f"{freed.name()} of {_named(made)} has lost what it had saved")
    if freed_by is None:
        return None
    evidence.append(f"freed by {_named(freed_by)}")
    if _is_loop(at, freed_by) and entered is not None:
        carried = _carried(raised, at, entered, made, evidence)
        if carried is not None:
            return carried
    return _shared(raised, at, root, entered, freed_by, made, evidence)


def _named(spot) -> str:
    text = spot.source.segment(spot.node).splitlines()[0]
    text = text if len(text) <= 40 else text[:37] + "..."
    return f"{text} at {values.place_of((spot.file, '', spot.line))}"


def _is_loop(at, freed_by) -> bool:
    """Whether the backward that freed is this line, or one after it: the turn before ran it."""
    return freed_by.file == at.file and at.line <= freed_by.line


# ---- Carried from step to step


def _carried(raised: Raised, at, entered, made, evidence):
    """The names that the entering expression reads and that a step before assigned."""
    names = _assigned_later(entered)
    for node in names:
        text = entered.source.segment(node)
        fixes = _detached(raised, entered, node)
        if not fixes:
            continue
        related = [Related(at.file, at.line, "the second backward")]
        return raised.finding(
            "graph-carried-over",
            f"{text} comes from the step before with its graph",
            entered.place,
            evidence=[*evidence, f"{text} is read by {_named(entered)} and carries the old graph"],
            related=related,
            fixes=fixes,
        )
    return _from_caller(raised, at, entered, evidence)


def _assigned_later(entered) -> list[ast.expr]:
    """Names and self's attributes in an expression that are assigned in the loop or class again."""
    source, statement = entered.source, entered.statement
    loops = source.loops_around(statement)
    owner = source.class_of(statement)
    function = source.function_of(statement)
    found = []
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name) and loops:
        return [statement.target]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Attribute):
        return [statement.target]
    for node in ast.walk(entered.node):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and loops:
            later = [s for s in source.assignments(node.id, function) if _is_within(s, loops[-1])]
            first = [s for s in later if s.lineno < statement.lineno]
            if later and not first:
                found.append(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if owner is not None and node.value.id == "self":
                statements = source.attribute_assignments(node.attr, owner)
                if any(not _is_constructor(source, s) for s in statements):
                    found.append(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            found += [node] * any(node.value.id in _subscript_targets(loop) for loop in loops)
    return [n for n in found if not _is_called(n)]


def _is_called(node: ast.AST) -> bool:
    parent = getattr(node, "parent", None)
    return isinstance(parent, ast.Call) and parent.func is node


def _is_within(node: ast.AST, loop: ast.AST) -> bool:
    return loop.lineno <= node.lineno <= loop.end_lineno and node is not loop


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


def _detached(raised: Raised, entered, node) -> list[Fix]:
    """The name detached where it is read; a tuple of tensors (an LSTM's state) item by item."""
    source = entered.source
    name = source.segment(node)
    statement = entered.statement
    if isinstance(statement, ast.AugAssign) and node is statement.target:
        alone = _alone(raised, source, statement)
        if alone is not None:
            return [alone]
        value = source.segment(statement.value)
        if not isinstance(statement.value, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)):
            value = f"({value})"
        return [
            Fix(
                f"{name} += {value}.detach()",
                [source.replace((statement.value, f"{value}.detach()"))],
            ),
            Fix(
                f"{name} = {name}.detach() before it",
                [source.insert_before(statement, f"{name} = {name}.detach()")],
            ),
        ]
    plain = f"{name}.detach()"
    each = f"tuple(s.detach() for s in {name})"
    options = [plain, each]
    held = _current(raised, entered, node)
    if isinstance(held, (tuple, list)):
        options = [each]
    elif values.is_tensor(held):
        options = [plain]
    fixes = [Fix(text, [source.replace((node, text))]) for text in options]
    first = _guarded_first(entered, node)
    return [*first, *fixes] if first else fixes


def _alone(raised: Raised, source, statement: ast.AugAssign) -> Fix | None:
    """backward() of this step's loss, not of the sum; the sum only counts."""
    at = raised.innermost
    receiver = _receiver(at.statement)
    if at.file != source.file or receiver is None:
        return None
    total = source.segment(statement.target)
    if ast.unparse(receiver) != ast.unparse(statement.target):
        return None
    space = source.indentation(statement)
    lines = [f"loss = {source.segment(statement.value)}", f"{total} += loss.detach()"]
    first = Edit(
        source.file,
        statement.lineno,
        statement.end_lineno,
        "\n".join(space + line for line in lines),
    )
    return Fix("loss.backward(), and the sum detached", [first, source.replace((receiver, "loss"))])


def _guarded_first(entered, node) -> list[Fix]:
    """Where the state begins as None, only what is not None can be detached."""
    source = entered.source
    name = source.segment(node)
    begins = []
    if isinstance(node, ast.Name):
        begins = source.assignments(node.id, source.function_of(entered.node))
    elif source.class_of(entered.node) is not None:
        begins = source.attribute_assignments(node.attr, source.class_of(entered.node))
    if not any(
        isinstance(getattr(s, "value", None), ast.Constant) and s.value.value is None
        for s in begins
    ):
        return []
    fixes = []
    for text in (f"{name}.detach()", f"tuple(s.detach() for s in {name})"):
        whole = f"{name} if {name} is None else {text}"
        parent = getattr(node, "parent", None)
        if not isinstance(parent, (ast.Call, ast.Assign)):
            whole = f"({whole})"
        fixes.append(Fix(whole, [source.replace((node, whole))]))
    return fixes


def _current(raised: Raised, entered, node):
    for at in reversed(raised.frames):
        if at.file == entered.file:
            found = at.value(node, None)
            if found is not None:
                return found
    return None


def _from_caller(raised: Raised, at, entered, evidence):
    """The old value came in as an argument: the calling expression's names, frame by frame."""
    function = entered.source.function_of(entered.node)
    if function is None:
        return None
    for source in upstream.user_sources(raised):
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Call) or not source.loops_around(node):
                continue
            name = upstream.called(node)
            if not _calls(name, function, entered):
                continue
            spot = upstream.Spot(source, node)
            for read in _assigned_later(spot):
                text = source.segment(read)
                return raised.finding(
                    "graph-carried-over",
                    f"{text} comes from the step before with its graph",
                    spot.place,
                    evidence=[*evidence, f"{text} is handed to {_named(spot)}"],
                    related=[
                        Related(entered.file, entered.line, "reads the old value"),
                        Related(at.file, at.line, "the second backward"),
                    ],
                    fixes=_detached(raised, spot, read),
                )
    return None


def _calls(name: str, function, entered) -> bool:
    """Whether a call's name may be the function: by its name, or a module for its forward."""
    return name == function.name or function.name == "forward"


# ---- Two losses


def _shared(raised: Raised, at, root, entered, freed_by, made, evidence):
    first, second = freed_by.statement, at.statement
    related = [Related(at.file, at.line, "the second backward")]
    if made is not None:
        related.append(Related(made.file, made.line, "the part that both use"))
    fixes = []
    same_block = freed_by.file == at.file and getattr(first, "parent", 0) is getattr(
        second, "parent", 1
    )
    if same_block and first.lineno < second.lineno:
        fixes += _summed(at, first, second)
    fixes += _retained(freed_by)
    if entered is not None:
        fixes += _cut(raised, entered, made)
    if len(fixes) > 1:
        evidence = [*evidence, "the fixes differ in what the shared part learns from"]
    title = f"line {freed_by.line} freed the part of the graph that both losses use"
    if freed_by.place == (at.file, at.line) and entered is None:
        title = f"backward() was called again on what line {freed_by.line} has been through"
    return raised.finding(
        "backward-twice", title, freed_by.place, evidence=evidence, related=related, fixes=fixes
    )


def _receiver(statement: ast.stmt):
    call = statement.value if isinstance(statement, ast.Expr) else None
    plain = upstream.called(call) == "backward" and isinstance(call.func, ast.Attribute)
    return call.func.value if plain and not call.args and not call.keywords else None


def _summed(at, first: ast.stmt, second: ast.stmt) -> list[Fix]:
    """One backward of the sum, in place of both; nothing that uses gradients may lie between."""
    a, b = _receiver(first), _receiver(second)
    if a is None or b is None or ast.unparse(a) == ast.unparse(b):
        return []
    block = getattr(first.parent, "body", [])
    if first in block and second in block:
        between = block[block.index(first) + 1 : block.index(second)]
        if any(upstream.called(n) in ("step", "zero_grad") for s in between for n in ast.walk(s)):
            return []
    text = f"({at.source.segment(a)} + {at.source.segment(b)}).backward()"
    edits = [at.source.remove(first), at.source.replace((second, text))]
    return [Fix(f"{text}: the same gradients in one pass", edits)]


def _retained(freed_by) -> list[Fix]:
    if upstream.called(freed_by.node) not in ("backward", "grad"):
        return []
    text = changes.with_keyword(freed_by.source, freed_by.node, "retain_graph", "True")
    edit = freed_by.source.replace((freed_by.node, text))
    return [Fix(f"{text}: its saved values live longer", [edit])]


def _cut(raised: Raised, entered, made) -> list[Fix]:
    """The second loss reads the shared value detached."""
    names = made.statement if made is not None else None
    targets = set()
    if isinstance(names, ast.Assign):
        targets = {n.id for t in names.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    for node in ast.walk(entered.node):
        if isinstance(node, ast.Name) and node.id in targets:
            text = f"{node.id}.detach()"
            edit: Edit = entered.source.replace((node, text))
            shown = changes.with_part(entered.source, entered.node, node, text)
            shown = shown if len(shown) < 50 else text
            return [Fix(f"{shown}: the shared part learns from the first loss alone", [edit])]
    return []
