"""Errors of module definitions: a forward that is missing, misspelled or in the wrong place."""

from __future__ import annotations

import ast
import difflib

from .. import upstream
from ..finding import Edit, Fix
from ..registry import explains, kind
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
    """Looks for the function in the class's source."""
    if raised.match[1] in ("ModuleList", "ModuleDict"):
        return None
    module = next(
        (m for m in reversed(raised.modules()) if type(m).__name__ == raised.match[1]), None
    )
    kind_ = type(module) if module is not None else _class_named(raised, raised.match[1])
    found = upstream.class_source(kind_) if kind_ is not None else None
    if found is None:
        return None
    source, node = found
    at = raised.innermost
    related = at.related("the call that needed it")
    functions = [f for f in ast.walk(node) if isinstance(f, ast.FunctionDef)]
    nested = [f for f in functions if f.name == "forward" and source.function_of(f) is not None]
    if nested:
        function, holder = nested[0], source.function_of(nested[0])
        edit = _moved(source, function, node)
        return raised.finding(
            "forward-missing",
            f"forward is a local function of {holder.name}: {node.name} has no forward",
            (source.file, function.lineno),
            evidence=[
                (
                    f"line {function.lineno} is indented {function.col_offset} columns, methods of "
                    f"{node.name} {node.body[0].col_offset}"
                )
            ],
            related=related,
            fixes=[Fix(f"def forward moved to the body of {node.name}", [edit])],
        )
    methods = [f for f in functions if f in node.body and f.name != "__init__"]
    near = difflib.get_close_matches("forward", [m.name.strip("_") for m in methods], 1, 0.6)
    usual = [m for m in methods if m.name in ("call", "__call__", "predict", "run", "apply")]
    wrong = [m for m in methods if near and m.name.strip("_") == near[0]] or usual
    if not wrong and len(methods) == 1:
        wrong = methods
    if not wrong:
        place = (source.file, node.lineno)
        return raised.finding(
            "forward-missing",
            f"{node.name} defines no forward",
            place,
            related=related,
            evidence=[f"its methods: {', '.join(m.name for m in methods) or 'none'}"],
        )
    method = wrong[0]
    line = source.lines[method.lineno - 1]
    text = line.replace(f"def {method.name}", "def forward", 1)
    edit = Edit(source.file, method.lineno, method.lineno, text)
    return raised.finding(
        "forward-missing",
        f"{node.name} has {method.name}, and no forward",
        (source.file, method.lineno),
        evidence=[f"a module's call runs forward; {method.name} is never looked up"],
        related=related,
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
    edit = at.source.insert_before(_first_statement(function), "super().__init__()")
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


def _first_statement(function: ast.FunctionDef) -> ast.stmt:
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and function.body[1:]:
        return function.body[1]
    return first
