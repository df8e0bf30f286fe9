"""Errors of what a name holds: a tuple, a class, a module or a method for its result."""

from __future__ import annotations

import ast
import inspect

from rushlight import nn
from rushlight.utils.data import DataLoader, IterableDataset

from .. import changes, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised

kind(
    "result-is-tuple",
    "A layer returns a tuple, and the next one wants a tensor",
    """
LSTM, GRU and RNN return (output, state), MultiheadAttention returns (output, weights). Take the
part that goes on: out, _ = self.lstm(x). In an nn.Sequential there is no place to do so: a small
module that keeps the first part does.
""",
)
kind(
    "class-for-object",
    "A class was used where an object of it is needed",
    """
nn.ReLU, nn.MSELoss and every model are classes: nn.ReLU() makes the layer, and calling that
computes. nn.ReLU(x) takes x for the option inplace; nn.MSELoss(a, b) takes a and b for options, and
Net(x) takes x for an argument of __init__. Make the object first and call it: nn.MSELoss()(a, b).
""",
)
kind(
    "method-not-called",
    "A method was named and not called",
    """
model.parameters without parentheses is the method itself, not the parameters: an optimizer cannot
iterate over it, and torch.save writes the method instead of its result.
""",
)


def _spot_of(raised: Raised, at, node):
    """Where an operand's value was computed: itself if it is a call, else its assignment."""
    if isinstance(node, ast.Call):
        return upstream.Spot(at.source, node, at)
    return upstream.bound(raised, at, node)


# ---- A tuple


@explains(
    (AttributeError, TypeError),
    r"must be Tensor, not tuple|tuple indices must be|'tuple' object has no attribute"
    r"|unsupported operand .*'tuple'",
)
def tuples(raised: Raised):
    """The recurrent layer or attention whose whole result was handed on."""
    at = raised.innermost
    if at.source is None or at.node is None:
        return None
    for part in upstream.operands(at):
        spot = _spot_of(raised, at, part)
        if spot is None or not isinstance(spot.node, ast.Call):
            continue
        layer = (spot.at or at).value(spot.node.func, None)
        if part is spot.node:
            if not _gives_tuple(layer):
                continue
        elif not isinstance(at.value(part, None), tuple) or not _is_known(layer):
            continue
        return _first_part(raised, at, spot, layer)
    return _in_sequence(raised, at)


def _is_known(function) -> bool:
    return isinstance(function, nn.Module) or _gives_tuple(function)


def _gives_tuple(function) -> bool:
    """Whether a layer or a function of the user's may give a tuple."""
    if isinstance(function, (nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention)):
        return True
    if getattr(function, "return_indices", False):
        return True
    if isinstance(function, nn.Module):
        return any(
            isinstance(s.node, (ast.Tuple, ast.Call, ast.Name))
            for s in upstream.returned(type(function).forward)
        )
    return any(isinstance(s.node, ast.Tuple) for s in upstream.returned(function))


def _first_part(raised: Raised, at, spot, layer):
    source, statement = spot.source, spot.statement
    edit = source.replace((spot.node, f"{source.segment(spot.node)}[0]"))
    text = f"{source.segment(spot.node)}[0]"
    if isinstance(statement, ast.Assign) and statement.value is spot.node:
        goal = statement.targets[0]
        if isinstance(goal, ast.Name):
            text = f"{goal.id}, _ = {source.segment(spot.node)}"
            edit = source.replace((statement, text))
    what = values.describe(layer) if isinstance(layer, nn.Module) else ast.unparse(spot.node.func)
    second = "weights" if isinstance(layer, nn.MultiheadAttention) else "state"
    pair = f"(output, {second})" if isinstance(layer, nn.Module) else "a tuple"
    return raised.finding(
        "result-is-tuple",
        f"{ast.unparse(spot.node.func)} returns {pair}, and a tensor is wanted",
        spot.place,
        evidence=[f"{ast.unparse(spot.node.func)} is {what}: its result has 2 parts"],
        related=at.related("used here"),
        fixes=[Fix(text.splitlines()[0], [edit])],
    )


def _in_sequence(raised: Raised, at):
    """An LSTM within an nn.Sequential: a subclass that keeps the first part."""
    for outer in raised.modules():
        if not isinstance(outer, nn.Sequential):
            continue
        for inner in outer:
            spot = upstream.of_module(inner)
            if not isinstance(inner, (nn.RNNBase, nn.MultiheadAttention)) or spot is None:
                continue
            name, func = f"{type(inner).__name__}Output", spot.source.segment(spot.node.func)
            head = spot.statement
            while spot.source.function_of(head) or spot.source.class_of(head):
                head = head.parent
            lines = [
                f"class {name}({func}):",
                "    def forward(self, *args):",
                "        return super().forward(*args)[0]",
                "",
            ]
            text = "\n".join(lines)
            edits = changes.with_definition(spot.source, head, text, spot.node.func, name)
            return raised.finding(
                "result-is-tuple",
                f"{type(inner).__name__} returns (output, state), the next layer wants a tensor",
                spot.place,
                evidence=[f"{values.describe(inner)} gives 2 parts; Sequential hands on both"],
                related=at.related("used here"),
                fixes=[Fix(f"{name}: a {func} that returns its output alone", edits)],
            )
    return None


# ---- A class, or a module, for a tensor


@explains(
    (AttributeError, TypeError, RuntimeError, ValueError),
    r"object has no attribute|must be Tensor, not|__init__\(\) (takes|missing)|unsupported operand"
    r"|Boolean value of Tensor|missing \d+ required positional|unexpected keyword argument",
)
def classes(raised: Raised):
    """``nn.ReLU(x)``, ``nn.MSELoss(a, b)``, ``model = Net``."""
    at = raised.innermost
    if at.source is None or at.node is None:
        return None
    parts = [at.node, *upstream.operands(at)]
    for part in parts:
        spot = _spot_of(raised, at, part)
        if spot is None or not isinstance(spot.node, ast.Call) or not spot.node.args:
            continue
        made = (spot.at or at).value(spot.node.func, None)
        if not isinstance(made, type) or not issubclass(made, nn.Module):
            continue
        given = [upstream.value(spot.at or at, a) for a in spot.node.args]
        made_of = vars(value) if isinstance(value := at.value(part, None), nn.Module) else {}
        if any(values.is_tensor(v) for v in [*given, *made_of.values()]):
            return _made_with_data(raised, at, spot, made)
    return None


def _made_with_data(raised: Raised, at, spot, made: type):
    source, func = spot.source, spot.node.func
    named = not values.is_ours(made) or isinstance(func, ast.Name)
    bound = upstream.bound(raised, spot.at or at, func) if named else None
    place, fixes = spot.place, []
    if bound is not None and isinstance(bound.node, (ast.Name, ast.Attribute)):
        place = bound.place
        text = f"{bound.text}()"
        fixes.append(bound.fix(text))
    else:
        text = f"{source.segment(func)}()"
        fixes.append(source.fix(func, text, f"{text}(...)"))
    name = source.segment(func)
    return raised.finding(
        "class-for-object",
        f"{name} is a class: its arguments are options, not data",
        place,
        evidence=[f"{name}(...) got {len(spot.node.args)} tensors or values for __init__'s"],
        related=at.related("used here"),
        fixes=fixes,
    )


# ---- A method for its result


@explains(
    (TypeError, ValueError, AttributeError),
    r"'(builtin_function_or_)?method' object is not iterable|<class 'method'>"
    r"|'function' object is not iterable|iterable of Tensors or dicts.*method",
)
def methods(raised: Raised):
    """``model.parameters`` without parentheses, where it was written."""
    at = raised.innermost
    names = {"parameters", "state_dict", "named_parameters"}
    for source in upstream.user_sources(raised):
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Attribute) or node.attr not in names:
                continue
            parent = node.parent
            if isinstance(parent, (ast.Attribute, ast.Subscript)) or (
                isinstance(parent, ast.Call) and parent.func is node
            ):
                continue
            text = f"{source.segment(node)}()"
            place = (source.file, node.lineno)
            return raised.finding(
                "method-not-called",
                f"{source.segment(node)} is a method: without () it is not its result",
                place,
                evidence=[f"line {node.lineno} hands on the method itself, 0 values"],
                related=at.related("used here"),
                fixes=[source.fix(node, text)],
            )
    return None


# ---- A number for a tensor


@explains(AttributeError, r"'(float|int)' object has no attribute '(backward|detach|item|cpu)'")
def number(raised: Raised):
    """The item() that took the graph away, in the function that returned it or where it stands."""
    at = raised.innermost
    part = at.node.value if isinstance(at.node, ast.Attribute) else None
    if part is None:
        return None
    spot = _spot_of(raised, at, part)
    for _ in range(4):
        if spot is None:
            return None
        if upstream.called(spot.node) in ("item", "float"):
            return _unread(raised, at, spot)
        if isinstance(spot.node, ast.Call):
            target = (spot.at or at).value(spot.node.func, None)
            if target is None:
                target = _method_of(raised, spot, at)
            spot = next(iter(upstream.returned(target)), None)
        elif isinstance(spot.node, ast.Name):
            scope = spot.source.function_of(spot.node)
            before = spot.source.last_assignment(spot.node.id, spot.line, scope)
            value = getattr(before, "value", None)
            spot = upstream.Spot(spot.source, value) if value is not None else None
        else:
            return None
    return None


def _method_of(raised: Raised, spot, at):
    """``self.compute`` of a running frame's self: read from its class, without a call."""
    func = spot.node.func
    if not isinstance(func, ast.Attribute):
        return None
    holder = (spot.at or at).value(func.value, None)
    found = inspect.getattr_static(type(holder), func.attr, None)
    return getattr(found, "__func__", found)


def _unread(raised: Raised, at, spot):
    node = spot.node
    inner = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0]
    text = spot.source.segment(inner)
    name = spot.source.segment(node)
    asked = raised.match[2]
    if asked in ("item", "cpu", "detach"):  # it is a number already: what asks goes
        fixes = [Fix(at.source.segment(at.node.value), [_without_call(at)])]
    else:
        fixes = [spot.source.fix(node, text, f"{text}: the tensor itself")]
    return raised.finding(
        "number-for-tensor",
        f"{name} is a Python number: it has no graph and no {asked}()",
        spot.place,
        evidence=[f"{name} gave a {raised.match[1]}; 0 graph nodes hang on it"],
        related=at.related("used here"),
        fixes=fixes,
    )


def _without_call(at):
    call = at.node.parent if isinstance(at.node.parent, ast.Call) else at.node
    return at.source.replace((call, at.source.segment(at.node.value)))


kind(
    "number-for-tensor",
    "A Python number stands where a tensor with a graph is needed",
    """
item() and float() read a tensor's value: what they give is a Python number, without a graph and
without the tensor's methods. Call backward() on the tensor, and read the number only to show it.
""",
)


kind(
    "result-not-tuple",
    "Several names wait for the parts of a result that is one tensor",
    """
out, hidden = model(x) takes the result apart. Where that is one tensor, Python walks its first
dimension instead, one row for each name, and fails unless there are as many rows as names. A
TensorDataset of one tensor gives batches of one part: `for (x,) in loader`.
""",
)


@explains(ValueError, r"(?:not enough|too many) values to unpack \(expected (\d+)")
def taken_apart(raised: Raised):
    """``out, hidden = model(x)``; ``for x, y in loader`` of batches with other parts."""
    at, statement = raised.innermost, raised.innermost.statement
    goal = statement.targets[0] if isinstance(statement, ast.Assign) else None
    goal = statement.target if isinstance(statement, ast.For) else goal
    if not isinstance(goal, (ast.Tuple, ast.List)):
        return None
    names = [at.source.segment(n) for n in goal.elts]
    if isinstance(statement, ast.For):
        return _batches_taken_apart(raised, at, statement, names)
    result = upstream.value(at, statement.value)
    if not isinstance(statement.value, ast.Call) or not values.is_tensor(result):
        return None
    text = f"{names[0]} = {at.source.segment(statement.value)}"
    return raised.finding(
        "result-not-tuple",
        f"{ast.unparse(statement.value.func)} returns one tensor, and {len(names)} names wait",
        evidence=[f"the result is {values.describe(result)}: {len(result)} rows"],
        fixes=[at.source.fix(statement, text)],
    )


def _batches_taken_apart(raised: Raised, at, statement, names):
    loader = upstream.value(at, statement.iter)
    if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
        return None
    sample = upstream.first_item(loader.dataset)
    count = len(sample) if isinstance(sample, (tuple, list)) else 1
    if not isinstance(sample, (tuple, list)) or count == len(names):
        return None
    kept = [*names[:count], *(["*_"] if count > len(names) else [])]
    text = ", ".join(kept) if len(kept) > 1 else f"({kept[0]},)"
    return raised.finding(
        "result-not-tuple",
        f"batches have {count} parts, and {len(names)} names wait for them",
        (at.file, statement.lineno),
        evidence=[f"a sample of {type(loader.dataset).__name__} has {count} parts"],
        fixes=[at.source.fix(statement.target, text, f"for {text} in ...")],
    )


kind(
    "function-called",
    "A custom autograd Function was called instead of applied",
    """
A subclass of torch.autograd.Function is never made into an object: its static forward runs by
Square.apply(x), which records the graph and hands forward its context.
""",
)


@explains(RuntimeError, r"Legacy autograd function with non-static forward method")
def function_called(raised: Raised):
    """``Square()(x)`` and ``square = Square(); square(x)``."""
    at, call = raised.innermost, raised.innermost.node
    held = at.value(call.func, None) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call):
        return None
    made = call.func if isinstance(call.func, ast.Call) else None
    name = at.source.segment(made.func) if made is not None else type(held).__name__
    arguments = changes.arguments(at.source, call)
    text = changes.call_text(at.source, call, f"{name}.apply", arguments)
    return raised.finding(
        "function-called",
        f"{name} is applied, not called",
        evidence=[f"{at.text}: forward and backward of {name} are static, 0 objects are needed"],
        fixes=[at.source.fix(call, text, call=text)],
    )
