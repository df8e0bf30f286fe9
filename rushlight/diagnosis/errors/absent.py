"""Errors of None where a value is wanted: functions without return, results of in-place methods."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from rushlight import _C, nn

from .. import changes, frames, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from ..source import Source
from . import Raised

kind(
    "result-missing",
    "A function or forward ends without returning its result",
    """
A function without a return statement gives None, and so does a module whose forward has none, or
has one on some ways through it only: the error comes later, where somebody uses the result.
Methods that work in place give nothing either: loss = loss.backward() leaves None in loss, as
xs = xs.append(x) does in xs, and model = model.load_state_dict(...) leaves the lists of keys that
did not fit. Return the value, and call such methods on a line of their own.
""",
)

_MOST_CALLS = 4
# Methods of the library's and of Python's that work in place and give None, or no model.
_IN_PLACE = {
    "backward", "step", "zero_grad", "load_state_dict", "update_parameters", "append", "extend",
    "insert", "remove", "sort", "reverse", "clear", "update", "add", "shuffle",
}  # fmt: skip


@explains(
    (AttributeError, TypeError, RuntimeError, ValueError),
    r"NoneType|found None|got None|'_IncompatibleKeys' object",
)
def nothing(raised: Raised):
    """Which operand is None, and which call left it so."""
    at = raised.innermost
    if at.source is None or at.node is None:
        return None
    wrong = "_IncompatibleKeys" if "_Incompatible" in raised.message else "NoneType"
    for part in _parts(at):
        if type(at.value(part, None)).__name__ != wrong and not isinstance(part, ast.Call):
            continue
        for spot in _spots(raised, at, part):
            found = _cause(raised, at, spot)
            if found is not None:
                return found
    return _handed_on(raised, at) or _layer_without_return(raised, at)


def _parts(at) -> list[ast.expr]:
    """The expressions of which one is None: operands, what is called, unpacked or walked."""
    parts = [p.value if isinstance(p, ast.Starred) else p for p in upstream.operands(at)]
    if isinstance(at.node, ast.Call):
        parts.append(at.node.func)
    statement = at.statement
    if isinstance(at.node, ast.Tuple) and isinstance(statement, ast.Assign):
        parts.append(statement.value)
    elif isinstance(at.node, (ast.Name, ast.Call)) and not parts[:-1]:
        parts.append(at.node)
    inner = (n for part in parts for n in ast.walk(part) if isinstance(n, ast.Call))
    return [*parts, *(n for n in inner if n not in parts)]


def _spots(raised: Raised, at, part) -> Iterator[upstream.Spot]:
    """The calls that an operand's value may come from: itself, or the assignments of its name."""
    if isinstance(part, ast.Call):
        yield upstream.Spot(at.source, part, at)
        return
    spot = upstream.bound(raised, at, part)
    if spot is not None:
        yield spot
    if isinstance(part, ast.Name):  # in a loop the assignment that a later turn sees
        scope = at.source.function_of(at.node)
        for statement in reversed(at.source.assignments(part.id, scope)):
            if isinstance(statement, ast.Assign) and statement.lineno >= at.line:
                yield upstream.Spot(at.source, statement.value, at)


def _cause(raised: Raised, at, spot, depth: int = 0):
    """The in-place call that a value is the result of, or the function without a return."""
    if not isinstance(spot.node, ast.Call) or depth == _MOST_CALLS:
        return None
    target = _target(raised, at, spot)
    if upstream.definition(_function(target)) is None:
        return _kept_wrongly(raised, at, spot)
    found = _ends_without(raised, at, target, spot)
    if found is not None:
        return found
    for inner in upstream.returned(_function(target)):
        if isinstance(inner.node, ast.Name):
            scope = inner.source.function_of(inner.node)
            before = inner.source.last_assignment(inner.node.id, inner.line, scope)
            inner = upstream.Spot(inner.source, getattr(before, "value", inner.node))
        found = _cause(raised, at, inner, depth + 1)
        if found is not None:
            return found
    return None


def _target(raised: Raised, at, spot):
    """What a call calls; in a frame that has ended, what its file or its class says."""
    if spot.at is not None:
        return upstream.value(spot.at, spot.node.func)
    func = spot.node.func
    owner = _C._locals(at.frame).get("self") if isinstance(func, ast.Attribute) else None
    if owner is not None and ast.unparse(func.value) == "self":
        return getattr(type(owner), func.attr, None)
    return at.value(func, None)


def _function(target):
    return type(target).forward if isinstance(target, nn.Module) else target


# ---- Results of what works in place


def _kept_wrongly(raised: Raised, at, spot):
    """``loss = loss.backward()``: the call on a line of its own."""
    call, statement, source = spot.node, spot.statement, spot.source
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _IN_PLACE:
        return None
    text = _on_its_own(source, call, statement)
    if text is None:
        return None
    method = call.func.attr
    gives = "the keys that did not fit" if method == "load_state_dict" else "None"
    goal = _goal(statement)
    title = f"{method}() returns {gives}: " + (f"{goal} holds that now" if goal else "used here")
    return raised.finding(
        "result-missing",
        title,
        spot.place,
        evidence=[source.segment(statement).splitlines()[0]],
        related=at.related("used here"),
        fixes=[Fix("; ".join(text.split("\n")), [source.instead(statement, text)])],
    )


def _goal(statement: ast.stmt) -> str:
    return ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""


def _on_its_own(source: Source, call: ast.Call, statement: ast.stmt) -> str | None:
    """The statement's text with an in-place call before it, and what that worked on in it."""
    if isinstance(statement, (ast.For, ast.While, ast.If, ast.With, ast.FunctionDef)):
        return None
    holder, text = call.func.value, source.segment(call)
    if call.func.attr == "shuffle":
        holder = call.args[0] if call.args else None
    if holder is None or text.count("\n"):
        return None
    goal = _goal(statement)
    alone = goal and statement.value is call
    if alone and call.func.attr == "sort" and goal != ast.unparse(holder):
        given = [source.segment(holder), *changes.arguments(source, call)]
        return f"{goal} = sorted({', '.join(given)})"
    if isinstance(holder, (ast.Name, ast.Attribute)):
        if alone and (goal == ast.unparse(holder) or _is_known(source, goal, statement)):
            return text
        kept = changes.with_part(source, statement, call, source.segment(holder))
        return f"{text}\n{kept}"
    if not alone:
        return None
    kept = source.segment(holder)
    method = text[len(kept) :] if text.startswith(kept) else f".{call.func.attr}()"
    return f"{goal} = {kept}\n{goal}{method}"


def _is_known(source: Source, name: str, statement: ast.stmt) -> bool:
    """Whether a name has a value before a statement, in the same function."""
    scope = source.function_of(statement)
    return name.isidentifier() and bool(source.last_assignment(name, statement.lineno, scope))


# ---- Functions without a return


def _ends_without(raised: Raised, at, target, spot=None):
    """The user's function, or forward of a module, that gave nothing, with the return it lacks."""
    found = upstream.definition(_function(target))
    if found is None or isinstance(found[1], ast.Lambda):
        return None
    source, node = found
    if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(node)):
        return None
    empty = [r for r in _returns(source, node) if upstream.gives_nothing(r)]
    if not empty and not _falls_through(node.body):
        return None
    result = _result(source, node, _wanted(at))
    if result is None and _was_given(spot):
        return _given_back(raised, at, spot, node)
    if empty and (not _falls_through(node.body) or empty[-1].parent is node):
        last, edit = empty[-1], None
        if result is not None:
            edit = source.replace((last, f"return {result}"))
    else:
        last, edit = node.body[-1], None
        if isinstance(last, ast.Expr) and _gives_value(last.value):
            result = source.segment(last.value)
            edit = source.replace((last, f"return {result}"))
        elif result is not None:
            edit = source.insert_after(last, f"return {result}")
    name = f"{type(target).__name__}.forward" if isinstance(target, nn.Module) else node.name
    place = (source.file, last.end_lineno)
    count = len(_returns(source, node)) - len(empty)
    some = f"{count} return statements with a value" if count else "0 return statements"
    says = "ends without return on a way through it" if count else "ends without return"
    return raised.finding(
        "result-missing",
        f"{name} {says}: its result is None",
        place,
        evidence=[f"{some} in lines {node.lineno} to {node.end_lineno} of {name}"],
        related=at.related("used here"),
        fixes=[Fix(f"return {result}".splitlines()[0], [edit])] if edit is not None else [],
    )


def _returns(source: Source, function) -> list[ast.Return]:
    return [
        part
        for part in ast.walk(function)
        if isinstance(part, ast.Return) and source.function_of(part) is function
    ]


def _falls_through(body: list[ast.stmt]) -> bool:
    """Whether a block can be left at its end."""
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return False
    if isinstance(last, ast.If):
        return not last.orelse or _falls_through(last.body) or _falls_through(last.orelse)
    if isinstance(last, ast.With):
        return _falls_through(last.body)
    if isinstance(last, ast.Try):
        return any(_falls_through(b) for b in (last.orelse or last.body, *_handlers(last)))
    if isinstance(last, ast.While):
        return not (isinstance(last.test, ast.Constant) and last.test.value)
    return True


def _handlers(block: ast.Try) -> list[list[ast.stmt]]:
    return [handler.body for handler in block.handlers]


def _gives_value(node: ast.expr) -> bool:
    """Whether an expression that stands alone was meant as the result: no print, no append."""
    return not isinstance(node, ast.Constant) and not (
        isinstance(node, ast.Call)
        and (upstream.called(node) in _IN_PLACE | {"print"} or upstream.called(node).endswith("_"))
    )


def _wanted(at) -> int:
    """How many values the result is unpacked to, 1 where it is not."""
    statement = at.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    target = statement.target if isinstance(statement, ast.For) else target
    unpacked = isinstance(target, ast.Tuple) and at.node in (target, getattr(statement, "iter", 0))
    return len(target.elts) if unpacked else 1


def _result(source: Source, function, count: int) -> str | None:
    """What a function computed last, or its last ``count`` names."""
    given = [r.value for r in _returns(source, function) if not upstream.gives_nothing(r)]
    tuples = [v for v in given if isinstance(v, ast.Tuple)]
    known = list(dict.fromkeys(_assigned(function.body)))
    if tuples:  # as it returns elsewhere, with None for what is not there
        parts = [source.segment(e) for e in tuples[0].elts]
        there = [p for p in parts if p in known]
        if count == len(parts) and there:
            return ", ".join(p if p in known else "None" for p in parts)
        return there[0] if there else None
    if len(known) < count or not known:
        return None
    return ", ".join(reversed(known[:count]))


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    """The names that a block gives values to on all ways through it, the last one first."""
    for number in range(len(body) - 1, -1, -1):
        statement = body[number]
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            goals = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for goal in goals:
                names = goal.elts if isinstance(goal, ast.Tuple) else [goal]
                yield from (n.id for n in reversed(names) if isinstance(n, ast.Name))
        elif isinstance(statement, (ast.For, ast.While)):  # where it had one before, too
            before = set(_assigned(body[:number])) | _parameters(statement)
            yield from (n for n in _assigned(statement.body) if n in before)
            yield from _filled(statement.body)
        elif isinstance(statement, ast.With):
            yield from _assigned(statement.body)
        elif isinstance(statement, ast.If):
            ways = [list(_assigned(b)) for b in (statement.body, statement.orelse) if b]
            yield from (n for n in ways[-1] if len(ways) == 2 and n in ways[0])
            if len(ways) == 2 and not _falls_through(statement.body):
                yield from ways[1]


def _filled(body: list[ast.stmt]) -> Iterator[str]:
    """Lists that a loop appends to."""
    for node in itertools.chain.from_iterable(ast.walk(s) for s in body):
        holder = frames.receiver(node) if frames.called(node) == "append" else None
        if isinstance(holder, ast.Name):
            yield holder.id


def _parameters(node: ast.AST) -> set[str]:
    while not isinstance(node, (ast.FunctionDef, ast.Module)):
        node = node.parent
    arguments = getattr(node, "args", None)
    return {a.arg for a in arguments.args} if arguments is not None else set()


def _was_given(spot) -> bool:
    """Whether the result goes to the name that was handed in: ``net = init(net)``."""
    return (
        spot is not None
        and isinstance(spot.statement, ast.Assign)
        and spot.statement.value is spot.node
        and any(ast.unparse(a) == _goal(spot.statement) for a in spot.node.args)
    )


def _given_back(raised: Raised, at, spot, function):
    text = spot.text
    return raised.finding(
        "result-missing",
        f"{function.name} works in place and returns None: {_goal(spot.statement)} holds that now",
        spot.place,
        evidence=[f"0 return statements in lines {function.lineno} to {function.end_lineno}"],
        related=at.related("used here"),
        fixes=[spot.source.fix(spot.statement, text, text.splitlines()[0])],
    )


# ---- Functions that somebody else calls


def _handed_on(raised: Raised, at):
    """A function that the library was given: a collate_fn, a closure, the rule of a schedule."""
    given = [upstream.value(at, part) for part in upstream.operands(at)]
    walked = at.statement.iter if isinstance(at.statement, ast.For) else None
    for node in ast.walk(walked) if walked is not None else ():
        given.append(getattr(upstream.value(at, node), "collate_fn", None))
    for target in given:
        found = None if isinstance(target, nn.Module) else _ends_without(raised, at, target)
        if found is not None:
            return found
    return None


def _layer_without_return(raised: Raised, at):
    """A user's layer in a container: its result is what the next one got."""
    for outer in raised.modules():
        for inner in outer.modules():
            if not values.is_ours(type(inner)):
                found = _ends_without(raised, at, inner)
                if found is not None:
                    return found
    return None
