"""Where a number was decided: an expression followed back to where its value was written down.

Names are followed to their assignment, parameters to the call that ran the function, ``self.x`` to
the class, ``config.x`` and ``config["x"]`` to the configuration's own lines.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from . import changes, construction, frames
from .finding import Edit, Fix
from .source import Source

_MOST_STEPS = 12


@dataclass(frozen=True)
class Decision:
    """The expression that decides, or (``keyword``) the call that left a parameter to its default.

    ``name`` is what the last parameter, variable or attribute on the way is called.
    """

    source: Source
    node: ast.expr
    name: str = ""
    keyword: str = ""

    @property
    def place(self) -> tuple[str, int]:
        return self.source.file, self.node.lineno

    def text(self, value: str) -> str:
        """The expression, or call, with another value."""
        if not self.keyword:
            return value
        return changes.with_keyword(self.source, self.node, self.keyword, value)

    def edit(self, value: str) -> Edit:
        return self.source.replace((self.node, self.text(value)))

    @property
    def default(self) -> Decision | None:
        """The default that a call left a parameter to, where that is written in its function."""
        for part in ast.walk(self.source.tree) if self.keyword else ():
            if isinstance(part, ast.FunctionDef) and _is_called(self.source, part, self.node):
                found = construction.default(part, self.keyword)
                if found is not None:
                    return Decision(self.source, found, self.keyword)
        return None

    def fix(self, value: str, says: str = "") -> Fix:
        """The change to another value, shown with what stands around it."""
        shown = self.text(value)
        if not self.keyword:
            around = self.node.parent
            if isinstance(around, ast.keyword):
                shown = f"{around.arg}={shown}"
            elif isinstance(around, ast.Call):
                shown = changes.with_part(self.source, around, self.node, shown)
            elif self.name:
                shown = f"{self.name} = {shown}"
        shown = shown.splitlines()[0]
        return Fix(f"{shown}: {says}" if says else shown, [self.edit(value)])


def _is_called(source: Source, function: ast.FunctionDef, call: ast.Call) -> bool:
    owner = source.class_of(function) if function.name == "__init__" else None
    return frames.called(call) == (owner.name if owner is not None else function.name)


def callers(raised) -> list:
    """The calls that were running when an error came, as steps, innermost first."""
    return [
        construction.Step(at.source, at.node)
        for at in reversed(raised.frames[:-1])
        if isinstance(at.node, ast.Call)
    ]


def of_argument(module, position: int, name: str) -> Decision | None:
    """Where an argument of a module's construction was decided."""
    steps = construction.steps_to(module)
    if not steps:
        return None
    node = construction.argument(steps[0].call, position, name)
    if node is None:
        return Decision(steps[0].source, steps[0].call, name, name)
    return follow(steps[0].source, node, steps[1:], name)


def follow(source: Source, node: ast.expr, callers: list, name: str = "") -> Decision:
    """Where an expression's value was decided; ``callers`` ran the function it stands in."""
    for _ in range(_MOST_STEPS):
        found = _before(source, node, callers)
        if found is None:
            break
        source, node, callers, named, keyword = found
        name = named or name
        if keyword:
            return Decision(source, node, name, keyword)
    return Decision(source, node, name)


def _before(source: Source, node: ast.expr, callers: list):
    """(source, node, callers, name, keyword) one step before an expression, None at the end."""
    if isinstance(node, ast.Name):
        return _of_name(source, node, callers)
    if isinstance(node, ast.Attribute):
        if ast.unparse(node.value) != "self":
            return _of_entry(source, node.value, node.attr, callers)
        owner = source.class_of(node)
        for statement in source.attribute_assignments(node.attr, owner) if owner else ():
            part = _part(statement, ast.unparse(node))
            if part is not None and not construction.stands_in(node, part):
                return source, part, callers, node.attr, ""
        return _default_of(source, owner, node.attr, callers) if owner is not None else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _of_entry(source, node.value, node.slice.value, callers)
    return None


def _of_name(source: Source, node: ast.Name, callers: list):
    function = source.function_of(node)
    if function is not None:
        statement = source.last_assignment(node.id, node.lineno, function)
        if statement is not None:
            part = _part(statement, node.id)
            return None if part is None else (source, part, callers, node.id, "")
        if node.id in construction.all_parameters(function):
            return _of_parameter(function, node.id, callers)
    return _of_global(source, node.id, node)


def _of_parameter(function: ast.FunctionDef, name: str, callers: list):
    if not callers:
        return None
    outer = callers[0]
    given = construction.argument(outer.call, construction.place_of(function, name), name)
    if given is not None:
        return outer.source, given, callers[1:], name, ""
    spread = [*outer.call.args, *(k.arg or k for k in outer.call.keywords)]
    if any(isinstance(a, (ast.Starred, ast.keyword)) for a in spread):
        return None
    return outer.source, outer.call, callers[1:], name, name


def _of_global(source: Source, name: str, at: ast.AST):
    inside = source.function_of(at) is not None
    statement = source.last_assignment(name, sys.maxsize if inside else at.lineno)
    if statement is not None:
        part = _part(statement, name)
        return None if part is None else (source, part, [], name, "")
    for other, known in _imported(source, name):
        before = other.last_assignment(known, sys.maxsize)
        part = _part(before, known) if before is not None else None
        return None if part is None else (other, part, [], name, "")
    return None


def _part(statement: ast.stmt, target: str) -> ast.expr | None:
    """The part of an assigned value that a name or ``self.x`` gets."""
    if not isinstance(statement, ast.Assign):
        return None
    value = statement.value
    for goal in statement.targets:
        if isinstance(goal, ast.Tuple) and isinstance(value, ast.Tuple):
            for part, given in zip(goal.elts, value.elts, strict=False):
                if ast.unparse(part) == target:
                    return given
        elif ast.unparse(goal) == target:
            return value
    return None


# ---- Configurations


def _of_entry(source: Source, holder: ast.expr, key, callers: list):
    """The entry of a dict display or of a call that makes a configuration."""
    made = follow(source, holder, callers)
    node = made.node
    if isinstance(node, ast.Dict):
        for name, value in zip(node.keys, node.values, strict=True):
            if isinstance(name, ast.Constant) and name.value == key:
                return made.source, value, callers, str(key), ""
    if not isinstance(node, ast.Call):
        if isinstance(node, ast.Name):  # the class itself: ``Config.width``
            return _default_of(made.source, _class(made.source, node.id), key, callers)
        return None
    given = changes.keyword(node, key)
    if given is not None:
        return made.source, given, callers, key, ""
    called = node.func.id if isinstance(node.func, ast.Name) else ""
    if frames.called(node) == "parse_args":
        return _of_option(made.source, key)
    return _default_of(made.source, _class(made.source, called), key, callers)


def _class(source: Source, name: str):
    """(source, definition) of a class that a file defines or imports."""
    for there, known in ((source, name), *_imported(source, name)):
        for node in there.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == known:
                return there, node
    return None


def _imported(source: Source, name: str) -> Iterator[tuple[Source, str]]:
    """The files that a file imports a name from, and what it is called there."""
    for node in ast.walk(source.tree):
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            found = Source.of_module(node.module) if (alias.asname or alias.name) == name else None
            if found is not None:
                yield found, alias.name


def _default_of(source: Source, owner, name: str, callers: list):
    """``name = value`` in a class's body, or ``self.name = ...`` in its methods."""
    if isinstance(owner, tuple):
        source, owner = owner
    if owner is None:
        return None
    for statement in owner.body:
        part = _part(statement, name)
        if part is not None:
            return source, part, callers, name, ""
    for statement in source.attribute_assignments(name, owner):
        part = _part(statement, f"self.{name}")
        if isinstance(part, ast.Constant):
            return source, part, callers, name, ""
    return None


def _of_option(source: Source, name: str):
    """The default of an option of argparse's."""
    for node in ast.walk(source.tree):
        if frames.called(node) != "add_argument":
            continue
        flags = [a.value for a in node.args if isinstance(a, ast.Constant)]
        if name in [str(f).lstrip("-").replace("-", "_") for f in flags]:
            default = changes.keyword(node, "default")
            return None if default is None else (source, default, [], name, "")
    return None
