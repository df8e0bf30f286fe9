"""Modules that are put together wrongly: what is no module, a constructor's name."""

from __future__ import annotations

import ast

from rushlight import nn

from .. import changes, frames, upstream, values
from ..finding import Edit, Fix, Related
from ..registry import explains, kind
from . import Raised

kind(
    "not-a-module",
    "A container of modules got something that is no module",
    """
nn.Sequential takes modules one by one: a list has to be unpacked (nn.Sequential(*layers)), a class
has to be called (nn.ReLU(), not nn.ReLU), and a function such as torch.relu has a module of its own
(nn.ReLU()), or belongs into forward. ModuleList takes one list of modules.
""",
)
kind(
    "init-misspelt",
    "The constructor has another name than __init__",
    """
Python calls __init__, with two underscores on each side. A method named _init_ or init is an
ordinary one that nobody calls: the module is made without its layers, or refuses its arguments.
""",
)
kind(
    "iterator-ends",
    "next() was called on an iterator that has no batches left",
    """
iter(loader) gives each batch once; after the last one next() raises StopIteration. Begin anew where
that happens, or loop over the loader itself. itertools.cycle would keep every batch of the first
pass and repeat them without shuffling.
""",
)


@explains(TypeError, r"(\w+(?:\.\w+)*) is not a Module subclass")
def no_module(raised: Raised):
    """A list, a class or a function among the modules of a container."""
    at = raised.innermost
    if not isinstance(at.node, ast.Call):
        return None
    for part in _parts(at.node):
        inner = part.value if isinstance(part, ast.Starred) else part
        held = upstream.value(at, inner)
        if held is None or isinstance(held, (nn.Module, str)):
            continue
        text, name = None, at.source.segment(inner)
        if isinstance(held, (list, tuple)) and not isinstance(part, ast.Starred):
            wrong = [m for m in held if not isinstance(m, nn.Module)]
            text = None if wrong else f"*{name}"
        elif isinstance(held, type) and issubclass(held, nn.Module):
            text = f"{name}()"
        else:
            counterpart = _counterpart(held)
            if counterpart:
                text = f"{_prefix(at)}{counterpart}()"
        if text is None:
            continue
        return raised.finding(
            "not-a-module",
            f"{name} is a {type(held).__name__}, and {frames.called(at.node)} takes modules",
            (at.file, inner.lineno),
            evidence=[f"{name} is {values.describe(held)}"],
            related=at.related("the call that failed"),
            fixes=[at.source.fix(inner, text)],
        )
    return _in_a_list(raised, at)


def _parts(call: ast.Call) -> list:
    found = []
    for argument in call.args:
        found.append(argument)
        inner = argument.value if isinstance(argument, ast.Starred) else argument
        if isinstance(inner, (ast.List, ast.Tuple)):
            found += inner.elts
    return found


def _prefix(at) -> str:
    func = at.node.func
    if isinstance(func, ast.Attribute):
        return f"{at.source.segment(func.value)}."
    return f"{changes.prefix_for(at.source, 'nn')}."


def _counterpart(function) -> str | None:
    """The module of a function: ReLU for relu."""
    name = getattr(function, "__name__", "").lower()
    wanted = [
        n
        for n in (
            "ReLU",
            "Tanh",
            "Sigmoid",
            "GELU",
            "SiLU",
            "ELU",
            "LeakyReLU",
            "Softplus",
            "ReLU6",
            "SELU",
            "Mish",
            "Flatten",
        )
        if n.lower() == name.replace("_", "")
    ]
    return wanted[0] if wanted else None  # fmt: skip


def _in_a_list(raised: Raised, at):
    """``layers = [nn.Linear(...), nn.ReLU]`` and ``nn.Sequential(*layers)``: in the list."""
    for part in at.node.args:
        inner = part.value if isinstance(part, ast.Starred) else part
        spot = upstream.bound(raised, at, inner)
        for element in getattr(spot.node, "elts", ()) if spot is not None else ():
            held = upstream.value(spot.at or at, element)
            if isinstance(held, type) and issubclass(held, nn.Module):
                text = f"{spot.source.segment(element)}()"
                place = (spot.file, element.lineno)
                return raised.finding(
                    "not-a-module",
                    f"{ast.unparse(element)} is a class: () makes a module of it",
                    place,
                    evidence=[f"{ast.unparse(inner)} has {len(spot.node.elts)} entries"],
                    related=at.related("the call that failed"),
                    fixes=[spot.source.fix(element, text)],
                )
    return None


@explains(
    (AttributeError, TypeError),
    r"object has no attribute '\w+'|takes 1 positional argument but|takes no arguments"
    r"|unexpected keyword argument",
)
def misspelt(raised: Raised):
    """``_init_`` in a class of modules."""
    owners = [type(m) for m in raised.modules()]
    at = raised.innermost
    for part in ast.walk(at.node) if at.node is not None else ():
        held = at.value(part, None) if isinstance(part, (ast.Name, ast.Attribute)) else None
        owners += [held if isinstance(held, type) else type(held)]
    for owner in owners:
        found = upstream.class_source(owner) if issubclass(owner, nn.Module) else None
        if found is None or "__init__" in vars(owner):
            continue
        source, node = found
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name.strip("_") in ("init", "int"):
                line = source.lines[method.lineno - 1]
                new = line.replace(method.name, "__init__", 1)
                edit = Edit(source.file, method.lineno, method.lineno, new)
                place = (source.file, method.lineno)
                return raised.finding(
                    "init-misspelt",
                    f"{method.name} is not the constructor: __init__ is",
                    place,
                    evidence=[
                        f"{owner.__name__} has no __init__, and 0 calls of {method.name} ran"
                    ],
                    related=at.related("where it shows"),
                    fixes=[Fix("def __init__", [edit])],
                )
    return None


@explains(StopIteration, r"")
def ended(raised: Raised):
    """next(batches) after the last batch."""
    at = raised.innermost
    if at.node is None or frames.called(at.node) != "next" or len(at.node.args) != 1:
        return None
    name, statement = at.node.args[0], at.statement
    if not isinstance(name, (ast.Name, ast.Attribute)) or not isinstance(statement, ast.Assign):
        return None
    spot = upstream.bound(raised, at, name)
    if spot is None or frames.called(spot.node) != "iter":
        return None
    written, again = at.source.segment(statement), spot.source.segment(spot.node)
    lines = ["try:", f"    {written}", "except StopIteration:"]
    lines += [f"    {at.source.segment(name)} = {again}", f"    {written}"]
    edit = at.source.instead(statement, "\n".join(lines))
    count = upstream.value(spot.at or at, spot.node.args[0]) if spot.node.args else None
    size = f" of {len(count)} batches" if hasattr(count, "__len__") else ""
    return raised.finding(
        "iterator-ends",
        f"{at.source.segment(name)} has given all its batches",
        evidence=[f"{again}{size} was made once, at line {spot.line}"],
        related=[Related(spot.file, spot.line, "the iterator is made here")],
        fixes=[Fix("a new iterator where the old one ends", [edit])],
    )


kind(
    "context-not-called",
    "A with statement names a context and does not call it",
    """
no_grad, inference_mode, enable_grad and autocast are classes: `with torch.no_grad():` makes one and
enters it. Without the parentheses the class itself is there, which cannot be entered. (As a
decorator @torch.no_grad may stand without them.)
""",
)
kind(
    "number-is-tuple",
    "A comma behind a number makes a tuple of it",
    """
`lr = 0.1,` is a tuple with one entry. The line is often a keyword argument that was moved out of a
call and kept its comma. Take the comma away.
""",
)


@explains((TypeError, AttributeError), r"context manager protocol|__enter__")
def not_entered(raised: Raised):
    """``with torch.no_grad:``"""
    at = raised.innermost
    statement = at.statement
    for item in statement.items if isinstance(statement, ast.With) else ():
        held = at.value(item.context_expr, None)
        if isinstance(held, type) and hasattr(held, "__enter__"):
            name = at.source.segment(item.context_expr)
            return raised.finding(
                "context-not-called",
                f"{name} is a class: {name}() can be entered",
                (at.file, item.context_expr.lineno),
                evidence=[f"line {item.context_expr.lineno} names {held.__name__} without ()"],
                fixes=[at.source.fix(item.context_expr, f"{name}()")],
            )
    return None


@explains(TypeError, r"'tuple'|not tuple|tuple")
def comma(raised: Raised):
    """A keyword or argument that is a tuple of one number."""
    at = raised.innermost
    for part in changes.given(at.node):
        held = upstream.value(at, part)
        if type(held) is not tuple or len(held) != 1 or type(held[0]) not in (int, float):
            continue
        spot = upstream.Spot(at.source, part, at)
        if isinstance(part, (ast.Name, ast.Attribute)):
            spot = upstream.bound(raised, at, part)
        if spot is None or not isinstance(spot.node, ast.Tuple):
            continue
        text = spot.source.segment(spot.node.elts[0])
        return raised.finding(
            "number-is-tuple",
            f"{at.source.segment(part)} is ({held[0]},), a tuple, for the comma behind it",
            spot.place,
            evidence=[f"{text}, is a tuple of 1 entry"],
            related=at.related("where a number is wanted"),
            fixes=[spot.fix(text)],
        )
    return None
