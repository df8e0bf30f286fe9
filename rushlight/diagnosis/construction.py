"""How a module was built: the calls that led to it in the user's source, and changes of them.

A layer built by ``nn.Linear(width, hidden)`` in a class whose caller said ``Block(width * 2, 64)``
has its number from the caller: the search follows parameters outwards to the expression that is
not a mere name passed on.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from rushlight import _C

from . import changes
from .finding import Edit, Fix
from .source import Source


@dataclass
class Step:
    """One call on the way to a module, or a default that it took: its source, and its node."""

    source: Source
    call: ast.Call | ast.Constant

    @property
    def place(self) -> tuple[str, int]:
        return self.source.file, self.call.lineno


@dataclass
class Change:
    """An argument of a call, or the whole of it, as it would have to be; as text and as a fix."""

    step: Step
    node: ast.expr
    text: str

    @property
    def edit(self) -> Edit:
        return self.step.source.replace((self.node, self.text))

    @property
    def changed_call(self) -> str:
        return changes.with_part(self.step.source, self.step.call, self.node, self.text)

    @property
    def fix(self) -> Fix:
        return Fix(
            f"{self.step.source.segment(self.step.call)} -> {self.changed_call}", [self.edit]
        )


def steps_to(module) -> list[Step]:
    """The calls that were running when a module was made, innermost first."""
    steps = []
    for file, _, line, end_line, column, end_column in _C._built(module):
        source = Source.of(file)
        node = source.node_at(line, end_line, column, end_column) if source else None
        if isinstance(node, _COMPREHENSIONS):
            continue
        if not isinstance(node, ast.Call):
            break
        if not _is_super_init(node) and not (steps and stands_in(steps[-1].call, node)):
            steps.append(Step(source, node))
    return steps


# A comprehension's frame stands between that of its function and the call in it.
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def stands_in(node: ast.AST, whole: ast.AST) -> bool:
    """Whether a node is a part of another: of a call that walks a generator."""
    while node is not None and node is not whole:
        node = getattr(node, "parent", None)
    return node is whole


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """An argument of a call by place or name, None where it is left to its default."""
    named = changes.keyword(call, name)
    if named is not None:
        return named
    if 0 <= position < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args):
        return call.args[position]
    return None


def parameters(function: ast.FunctionDef) -> list[str]:
    """The names of a function's positional parameters, without self."""
    names = [a.arg for a in [*function.args.posonlyargs, *function.args.args]]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def all_parameters(function: ast.FunctionDef) -> list[str]:
    """The names of all parameters of a function, those by name alone last, without self."""
    return [*parameters(function), *(a.arg for a in function.args.kwonlyargs)]


def place_of(function: ast.FunctionDef, name: str) -> int:
    """The place of a parameter in a call of its function, -1 where it goes by its name alone."""
    names = parameters(function)
    return names.index(name) if name in names else -1


def number_changes(module, position: int, name: str, wanted: int, sizes=()) -> list[Change]:
    """Changes after which an argument of the module's own construction would be ``wanted``.

    The outermost call whose argument is not a name passed on comes first: the decision was made
    there. Within it, a part of the expression that could stand alone goes before a plain number.
    """
    steps = steps_to(module)
    if not steps:
        return []
    node = argument(steps[0].call, position, name)
    found: list[Change] = []
    for depth, step in enumerate(steps):
        if node is None:
            break
        here = [Change(step, node, text) for text in _alternatives(step.source, node, wanted)]
        found = here + found
        parameter = passed_on(step, node)
        if parameter is None or depth + 1 == len(steps):
            break
        outer = steps[depth + 1].call
        sibling = _sibling(step, outer, node, wanted, sizes)
        if sibling is not None:
            return [sibling, *found]
        node = argument(outer, *parameter)
        if node is None:
            found = _default(step, outer, parameter[1], wanted) + found
    return found


def _default(step: Step, outer: ast.Call, name: str, wanted: int) -> list[Change]:
    """The default of a parameter that the caller left out, as a change of it."""
    given = [*outer.args, *outer.keywords]
    if any(isinstance(a, ast.Starred) or getattr(a, "arg", "") is None for a in given):
        return []
    found = default(step.source.function_of(step.call), name)
    return [Change(Step(step.source, found), found, str(wanted))] if found is not None else []


def default(function: ast.FunctionDef, name: str) -> ast.Constant | None:
    """The constant that a parameter of a function is left to."""
    a = function.args
    places = [*a.posonlyargs, *a.args]
    pairs = [*zip(places[len(places) - len(a.defaults) :], a.defaults, strict=True)]
    pairs += zip(a.kwonlyargs, a.kw_defaults, strict=True)
    return next((d for p, d in pairs if p.arg == name and isinstance(d, ast.Constant)), None)


def _sibling(
    step: Step, outer: ast.Call, node: ast.expr, wanted: int, sizes: tuple = ()
) -> Change | None:
    """Another parameter of the same function that was given the wanted number: mixed up here.

    Only where the wrong one may be right itself: it is read elsewhere in the function, too, or its
    number is among ``sizes``.
    """
    function = step.source.function_of(step.call)
    names = parameters(function)
    reads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == node.id]
    mine = argument(outer, names.index(node.id), node.id)
    if len(reads) < 2 and getattr(mine, "value", None) not in sizes:
        return None
    for place, name in enumerate(names):
        if name == node.id:
            continue
        given = argument(outer, place, name)
        if isinstance(given, ast.Constant) and given.value == wanted:
            return Change(step, node, name)
    return None


def _alternatives(source: Source, node: ast.expr, wanted: int) -> list[str]:
    """What might stand in place of an expression: its operands that are names, then the number."""
    parts = []
    if isinstance(node, ast.BinOp):
        parts = [
            source.segment(part)
            for part in (node.left, node.right)
            if isinstance(part, (ast.Name, ast.Attribute))
        ]
    return [*parts, str(wanted)]


def passed_on(step: Step, node: ast.expr) -> tuple[int, str] | None:
    """(place in a call, name) of the parameter of its function that an expression is."""
    function = step.source.function_of(step.call)
    names = parameters(function) if function is not None else []
    if not isinstance(node, ast.Name) or node.id not in names:
        return None
    return names.index(node.id), node.id


def _is_super_init(call: ast.Call) -> bool:
    func = call.func
    return isinstance(func, ast.Attribute) and func.attr == "__init__"
