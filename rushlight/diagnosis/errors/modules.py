"""Errors of module definitions: a forward that is missing, misspelled or in the wrong place."""

from __future__ import annotations

import ast
import difflib

from .. import upstream
from ..finding import Edit, Fix
from ..registry import explains, kind
from ..source import first_of
from . import Raised

kind(
    "forward-missing",
    "A module has no forward",
    """
Calling a module runs its forward method. If that is indented one step too far it is a function
inside __init__ and the class has none; if its name is misspelled (foward, __forward__, call)
nobody finds it. Move it to the class body, or give it its name.
""",
)
kind(
    "super-init-missing",
    "A module assigns layers before super().__init__()",
    """
nn.Module keeps parameters, buffers and submodules in tables that its own __init__ makes. Call
super().__init__() first, before the first layer is assigned.
""",
)


@explains(NotImplementedError, r'Module \[(\w+)\] is missing the required "forward" function')
def forward(raised: Raised):
    """The function in the class's source that was to be its forward."""
    name = raised.match[1]
    if name in ("ModuleList", "ModuleDict"):
        return None
    running = next((m for m in reversed(raised.modules()) if type(m).__name__ == name), None)
    kind_ = type(running) if running is not None else _class_named(raised, name)
    found = upstream.class_source(kind_) if kind_ is not None else None
    if found is None:
        return None
    source, owner = found
    functions = [f for f in ast.walk(owner) if isinstance(f, ast.FunctionDef)]
    nested = [f for f in functions if f.name == "forward" and source.function_of(f) is not None]
    if nested:
        return _indented(raised, source, owner, nested[0])
    methods = [f for f in functions if f in owner.body and f.name != "__init__"]
    method = _meant(methods)
    if method is not None:
        return _named_otherwise(raised, source, owner, method)
    return raised.finding(
        "forward-missing",
        f"{owner.name} defines no forward",
        (source.file, owner.lineno),
        related=raised.innermost.related(NEEDED),
        evidence=[f"its methods: {', '.join(m.name for m in methods) or 'none'}"],
    )


NEEDED = "the call that needed it"
USUAL = ("call", "__call__", "predict", "run", "apply")  # what forward is called elsewhere


def _indented(raised: Raised, source, owner: ast.ClassDef, function: ast.FunctionDef):
    """forward stands one step too far to the right, inside of another method."""
    holder = source.function_of(function)
    return raised.finding(
        "forward-missing",
        f"forward is a local function of {holder.name}: {owner.name} has no forward",
        (source.file, function.lineno),
        evidence=[
            (
                f"line {function.lineno} is indented {function.col_offset} columns, methods of "
                f"{owner.name} {owner.body[0].col_offset}"
            )
        ],
        related=raised.innermost.related(NEEDED),
        fixes=[
            Fix(
                f"def forward moved to the body of {owner.name}",
                [_moved(source, function, owner)],
            )
        ],
    )


def _meant(methods: list[ast.FunctionDef]) -> ast.FunctionDef | None:
    """The method that was meant: spelt nearly so, called as elsewhere, or the only one."""
    near = difflib.get_close_matches("forward", [m.name.strip("_") for m in methods], 1, 0.6)
    wrong = [m for m in methods if near and m.name.strip("_") == near[0]]
    wrong = wrong or [m for m in methods if m.name in USUAL]
    if not wrong and len(methods) == 1:
        wrong = methods
    return wrong[0] if wrong else None


def _named_otherwise(raised: Raised, source, owner: ast.ClassDef, method: ast.FunctionDef):
    """The method under its right name."""
    line = source.lines[method.lineno - 1]
    text = line.replace(f"def {method.name}", "def forward", 1)
    edit = Edit(source.file, method.lineno, method.lineno, text)
    return raised.finding(
        "forward-missing",
        f"{owner.name} has {method.name}, and no forward",
        (source.file, method.lineno),
        evidence=[f"a module's call runs forward; {method.name} is never looked up"],
        related=raised.innermost.related(NEEDED),
        fixes=[Fix(text.strip(), [edit])],
    )


def _moved(source, function: ast.FunctionDef, owner: ast.ClassDef) -> Edit:
    first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
    by = owner.body[0].col_offset - function.col_offset
    text = source.reindented(first, function.end_lineno, by)
    return Edit(source.file, first, function.end_lineno, text)


def _class_named(raised: Raised, name: str):
    for value in raised.held():
        if type(value).__name__ == name:
            return type(value)
        if isinstance(value, type) and value.__name__ == name:
            return value
    return None


@explains(
    AttributeError,
    r"cannot assign (module|parameter|parameters|buffer)s? before \w+\.__init__\(\) call",
)
def no_super(raised: Raised):
    """The __init__ on the way whose class does not call super().__init__() first."""
    at = raised.innermost
    function = at.source.function_of(at.node) if at.node is not None else None
    if function is None or function.name != "__init__":
        return None
    edit = at.source.insert_before(first_of(function), "super().__init__()")
    edits = [edit]
    for node in ast.walk(function):  # a call that comes too late goes
        if isinstance(node, ast.Expr) and upstream.called(node.value) == "__init__":
            edits.append(at.source.remove(node))
    return raised.finding(
        "super-init-missing",
        "super().__init__() has to come before the first assignment",
        (at.file, function.lineno),
        evidence=[f"{at.source.segment(at.statement)} is assigned before"],
        related=at.related("the assignment that failed"),
        fixes=[Fix("super().__init__() as the first line", edits)],
    )
