"""A second backward through a graph that was freed: what was carried over, or shared."""

from __future__ import annotations

import ast

import rushlight
from rushlight import _C, nn

from .. import changes, graphs, upstream, values
from ..finding import Edit, Fix, Related
from ..registry import explains, kind
from ..source import value_of
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
        finding = carried(raised, at, entered, evidence)
        if finding is not None:
            return finding
    return _shared(raised, at, root, entered, freed_by, freed, made, evidence)


def _named(spot) -> str:
    text = spot.source.segment(spot.node).splitlines()[0]
    text = text if len(text) <= 40 else text[:37] + "..."
    return f"{text} at {values.place_of((spot.file, '', spot.line))}"


def _is_loop(at, freed_by) -> bool:
    """Whether the backward that freed is this line, or one after it: the turn before ran it."""
    return freed_by.file == at.file and at.line <= freed_by.line


# ---- Carried from step to step


def carried(raised: Raised, at, entered, evidence):
    """The names that the entering expression reads and that a step before assigned."""
    spots = [spot for spot in _assigned_later(raised, entered) if _detached(raised, spot)]
    if not spots:
        listed = _collected(raised, at, entered, evidence)
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
            f"{first.text} is read by {_named(entered)} and carries the old graph",
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
            if upstream.called(call) != "detach" or ast.unparse(call.func.value) != name:
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


def _collected(raised: Raised, at, entered, evidence):
    """A list that gets more in each turn, and backward of all of it."""
    receiver = at.node.func.value if isinstance(at.node.func, ast.Attribute) else None
    appended = {
        spot.node.func.value.attr
        if isinstance(spot.node.func.value, ast.Attribute)
        else ast.unparse(spot.node.func.value)
        for spot in upstream.calls(upstream.user_sources(raised), "append")
        if isinstance(spot.node.func, ast.Attribute)
    }
    for node in ast.walk(receiver) if receiver is not None else ():
        if isinstance(node, ast.Name) and _is_growing(at.value(node, None), node, appended):
            number = len(at.value(node, None))
            text = f"{node.id}[-1]"
            return raised.finding(
                "graph-carried-over",
                f"{node.id} still holds the losses of the steps before",
                evidence=[*evidence, f"{node.id} holds {number} losses, one more in each turn"],
                fixes=[at.source.fix(receiver, text, f"{text}.backward()")],
            )
    source = entered.source
    for part in [entered.node, *map(value_of, source.leading_to(entered.node))]:
        for node in ast.walk(part):
            if isinstance(getattr(node, "ctx", None), ast.Load):
                held = _current(raised, upstream.Spot(source, node))
                if _is_growing(held, node, appended):
                    return _never_emptied(raised, at, source, node, held, appended, evidence)
    return None


def _last_name(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _is_growing(held, node: ast.AST, appended: set) -> bool:
    """Whether a value is a list of results that the program appends to."""
    return (
        isinstance(held, list)
        and _last_name(node) in appended
        and all(values.is_tensor(t) for t in held)
        and any(t.grad_fn is not None for t in held)
    )


def _never_emptied(raised: Raised, at, source, node, held, appended, evidence):
    """Every list that grew as long as this one begins anew in each turn."""
    if isinstance(node, ast.Attribute):
        before, room = f"{source.segment(node.value)}.", _room_of(raised, source, node.value)
    else:
        before, room = "", next(f for f in reversed(raised.frames) if f.file == source.file).names
    names = [
        f"{before}{name}"
        for name, value in room.items()
        if name in appended and isinstance(value, list) and len(value) == len(held)
    ]
    moved, loop = _bound_before(source, at, names)
    if moved:
        text = "\n".join(source.segment(s) for s in moved)
        edits = [*(source.remove(s) for s in moved), source.insert_before(loop.body[0], text)]
        lines = " and ".join(str(s.lineno) for s in moved)
        place, fix = (source.file, moved[0].lineno), Fix(f"line {lines} into the loop", edits)
    else:
        block = next(b for b in _blocks(at.statement.parent) if at.statement in b)
        text = "\n".join(f"{name}.clear()" for name in names)
        leaves = isinstance(block[-1], (ast.Return, ast.Continue, ast.Break))
        insert = at.source.insert_before if leaves else at.source.insert_after
        place = (source.file, node.lineno)
        fix = Fix("emptied when the step is done", [insert(block[-1], text)])
    return raised.finding(
        "graph-carried-over",
        f"{source.segment(node)} still holds what the turns before put into it",
        place,
        evidence=[*evidence, f"it holds {len(held)} tensors, more after each turn"],
        related=at.related("the second backward"),
        fixes=[fix],
    )


def _room_of(raised: Raised, source, node: ast.AST) -> dict:
    return getattr(_current(raised, upstream.Spot(source, node)), "__dict__", {})


def _bound_before(source, at, names: list[str]):
    """The statements before the innermost loop around backward that made the lists, and it."""
    loops = at.source.loops_around(at.statement)
    if at.source is not source or not loops:
        return [], None
    scope = source.function_of(at.statement)
    bound = [source.last_assignment(name, loops[0].lineno, scope) for name in names]
    if not all(isinstance(s, ast.Assign) and _is_empty(s.value) for s in bound):
        return [], None
    return sorted(set(bound), key=lambda s: s.lineno), loops[0]


def _is_empty(value: ast.AST) -> bool:
    """Whether an expression makes empty lists and nothing else."""
    if isinstance(value, ast.Tuple):
        return all(_is_empty(part) for part in value.elts)
    return ast.unparse(value) in ("[]", "list()")


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
    held = _current(raised, spot)
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
    held = _current(raised, spot)
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


def _current(raised: Raised, spot):
    """What a name is now, in a running frame of its function; an attribute in any of its file."""
    function = spot.source.function_of(spot.node)
    for at in reversed(raised.frames):
        if at.file != spot.file or at.node is None:
            continue
        if isinstance(spot.node, ast.Attribute) or at.source.function_of(at.node) is function:
            found = at.value(spot.node, None)
            if found is not None:
                return found
    return _of_a_live_object(raised, spot)


def _of_a_live_object(raised: Raised, spot):
    """``self.NAME`` of an object of that class that the user's frames hold, alone or in another."""
    owner = spot.source.class_of(spot.node)
    if owner is None or not isinstance(spot.node, ast.Attribute):
        return None
    for at in raised.frames:
        for held in [*at.frame.f_locals.values(), *at.frame.f_globals.values()]:
            inside = list(held.modules()) if isinstance(held, nn.Module) else [held]
            inside += list(getattr(held, "__dict__", {}).values())
            for item in inside:
                if type(item).__name__ == owner.name:
                    return getattr(item, "__dict__", {}).get(spot.node.attr)
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
            if not _calls(raised, source, node, entered):
                continue
            spot = upstream.Spot(source, node)
            for read in _assigned_later(raised, spot):
                return raised.finding(
                    "graph-carried-over",
                    f"{read.text} comes from the step before with its graph",
                    spot.place,
                    evidence=[*evidence, f"{read.text} is handed to {_named(spot)}"],
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
    held = _current(raised, upstream.Spot(source, call.func))
    if isinstance(held, nn.Module):
        return any(type(m).__name__ == owner.name for m in held.modules())
    return held is None and not hasattr(rushlight.Tensor, name)


# ---- Two losses


def _without_sum(at) -> list[Fix]:
    """backward() of this turn's loss, where ``total = total + loss`` sums them up before it."""
    receiver = _receiver(at.statement)
    if not isinstance(receiver, ast.Name):
        return []
    scope = at.source.function_of(at.statement)
    before = at.source.last_assignment(receiver.id, at.line, scope)
    value = getattr(before, "value", None)
    if isinstance(before, ast.AugAssign):
        other = before.value
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        sides = [s for s in (value.left, value.right) if ast.unparse(s) != receiver.id]
        other = sides[0] if len(sides) == 1 else None
    else:
        other = None
    if not isinstance(other, ast.Name):
        return []
    detached = at.source.replace((other, f"{other.id}.detach()"))
    edits = [detached, at.source.replace((receiver, other.id))]
    return [Fix(f"{other.id}.backward(): the sum of all turns is for showing", edits)]


def _computed_once(raised: Raised, at, root, freed_by, made, evidence):
    """A loss that is computed before the loop whose every turn goes back through it."""
    source, loops = at.source, at.source.loops_around(at.node)
    spots = [s for s in (made, upstream.of_tensor(root)) if s is not None]
    if not loops or not spots or freed_by.place != (at.file, at.line):
        return None
    block = next((b for b in _blocks(loops[-1].parent) if loops[-1] in b), [])
    before = block[: block.index(loops[-1])]
    moved = {s.statement for s in spots if s.statement in before}
    if not moved or any(s.statement.lineno >= loops[0].lineno for s in spots):
        return None
    todo = list(moved)
    while todo:  # what they read of other results that require grad
        statement = todo.pop()
        for name in [n for n in ast.walk(statement.value) if isinstance(n, ast.Name)]:
            held = at.value(name, None)
            if values.is_tensor(held) and held.grad_fn is not None:
                scope = source.function_of(name)
                earlier = source.last_assignment(name.id, statement.lineno, scope)
                if earlier in before and earlier not in moved:
                    moved.add(earlier)
                    todo.append(earlier)
    ordered = sorted(moved, key=lambda s: s.lineno)
    if not all(isinstance(s, ast.Assign) for s in ordered):
        return None
    begin = loops[0].body[0]
    text = "\n".join(source.segment(s) for s in ordered)
    edits = [*(source.remove(s) for s in ordered), source.insert_before(begin, text)]
    lines = " and ".join(str(s.lineno) for s in ordered)
    return raised.finding(
        "backward-twice",
        "the loss is computed once, before the loop whose turns all go back through it",
        (at.file, ordered[0].lineno),
        evidence=[*evidence, f"line {lines} runs once, backward() in each turn"],
        related=at.related("the second backward"),
        fixes=[Fix(f"line {lines} into the loop, anew in each turn", edits)],
    )


def _blocks(node: ast.AST) -> list[list]:
    return [b for name in ("body", "orelse", "finalbody") if (b := getattr(node, name, None))]


def _shared(raised: Raised, at, root, entered, freed_by, freed, made, evidence):
    once = _computed_once(raised, at, root, freed_by, made, evidence)
    once = once or _too_far(raised, at, freed_by, freed, evidence)
    if once is not None:
        return once
    first, second = freed_by.statement, at.statement
    related = at.related("the second backward")
    if made is not None:
        related.append(Related(made.file, made.line, "the part that both use"))
    fixes = _without_sum(at)
    same_block = freed_by.file == at.file and getattr(first, "parent", 0) is getattr(
        second, "parent", 1
    )
    if same_block and first.lineno < second.lineno:
        fixes += _summed(at, first, second)
    if not _is_loop(at, freed_by) or not _made_in_turn(at, made):
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


def _too_far(raised: Raised, at, freed_by, freed, evidence):
    """A GAN's first loss goes back through the generator, whose step comes with the second."""
    first, second, source = freed_by.statement, at.statement, at.source
    a, b = _backward_of(first), _backward_of(second)
    if freed_by.file != at.file or a is None or b is None:
        return None
    spot = _read_apart(at, freed, a.func.value, b.func.value)
    if spot is None:
        return None
    scope, behind = source.function_of(second), graphs.leaves(at.value(spot.node, None))
    for call in ast.walk(scope or source.tree):
        if upstream.called(call) != "step" or not _position(a) < _position(call) < _position(b):
            continue
        held = {id(p) for p in values.parameters_of(at.value(call.func.value, None))}
        if held and not any(id(leaf) in held for leaf in behind):
            break
    else:
        return None
    text, name = f"{spot.text}.detach()", source.segment(call.func.value)
    none = f"{name} steps between the two, and holds none of the {len(behind)} parameters behind"
    return raised.finding(
        "backward-twice",
        f"line {freed_by.line} goes back through {spot.text}, which line {at.line} still needs",
        spot.place,
        evidence=[*evidence, f"{none} {spot.text}"],
        related=[
            Related(freed_by.file, freed_by.line, "freed it"),
            *at.related("the second backward"),
        ],
        fixes=[
            source.fix(spot.node, text, f"{text} in the first loss"),
            *_retained(freed_by),
        ],
    )


def _position(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _read_apart(at, freed, first: ast.expr, second: ast.expr):
    """Where what leads to the first loss alone reads a tensor that leads to both, before it."""
    source, scope = at.source, at.source.function_of(first)
    alone, other = source.leading_to(first), source.leading_to(second)
    shared = [s for s in alone if s in other]
    parts = [first, *(value_of(s) for s in alone if s not in shared)]
    for part in sorted(parts, key=_position):
        for node in ast.walk(part):
            if not isinstance(node, ast.Name):
                continue
            held = at.value(node, None)
            if not values.is_tensor(held) or held.grad_fn is None:
                continue
            bound = source.last_assignment(node.id, part.lineno, scope)
            if bound in shared and any(n is freed or n == freed for n in graphs.nodes(held)):
                return upstream.Spot(source, node)
    return None


def _made_in_turn(at, made) -> bool:
    """Whether what was freed is made anew in each turn: to retain it would only pile up."""
    loops = at.source.loops_around(at.node)
    inside = made is not None and made.file == at.file
    return inside and any(loop.lineno <= made.line <= loop.end_lineno for loop in loops)


def _backward_of(statement: ast.stmt):
    """The call ``loss.backward(...)`` that a statement consists of, or None."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    plain = upstream.called(call) == "backward" and isinstance(call.func, ast.Attribute)
    return call if plain else None


def _receiver(statement: ast.stmt):
    call = _backward_of(statement)
    return call.func.value if call is not None and not call.args and not call.keywords else None


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
            shown = changes.with_part(entered.source, entered.node, node, text)
            shown = shown if len(shown) < 50 else text
            said = f"{shown}: the shared part learns from the first loss alone"
            return [entered.source.fix(node, text, said)]
    return []
