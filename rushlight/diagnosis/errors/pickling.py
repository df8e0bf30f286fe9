"""Errors of pickling: lambdas and local functions on their way to a worker or a file."""

from __future__ import annotations

import ast
import pickle

from .. import changes, upstream
from ..finding import Fix
from ..registry import explains, kind
from . import Raised

kind(
    "local-function-pickled",
    "A lambda or local function was to be pickled",
    """
Workers that are spawned, and torch.save, pickle functions by their name in a module: a lambda or a
function inside of a function has none. Define it at the top of the file.
""",
)


@explains(
    (AttributeError, pickle.PicklingError, TypeError),
    r"Can't (?:pickle|get) local object '?(?:<function )?([\w.<>]+)"
    r"|Can't pickle <function <lambda>",
)
def local(raised: Raised):
    """The lambda, as a function at the top of its file."""
    at = raised.innermost
    name = (raised.match[1] or "<lambda>").rpartition(".")[2].strip("'")
    if name != "<lambda>":
        return None
    for source in upstream.user_sources(raised):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Lambda) and _is_passed(node) and _is_plain(node.args):
                return _found(raised, at, source, node)
    return None


def _is_passed(node: ast.Lambda) -> bool:
    return isinstance(getattr(node, "parent", None), (ast.keyword, ast.Call, ast.Assign))


def _is_plain(arguments: ast.arguments) -> bool:
    return not arguments.vararg and not arguments.kwonlyargs


def _found(raised: Raised, at, source, node):
    parent = node.parent
    name = parent.arg if isinstance(parent, ast.keyword) else "passed"
    head = source.statement_of(node)
    while getattr(head, "parent", None) is not source.tree:
        head = head.parent
    body = f"def {name}({ast.unparse(node.args)}):\n    return {source.segment(node.body)}\n\n"
    edits = changes.with_definition(source, head, body, node, name)
    place = (source.file, node.lineno)
    return raised.finding(
        "local-function-pickled",
        "a lambda cannot be pickled: it has no name in its file",
        place,
        evidence=[f"the lambda of line {node.lineno} goes to another process or into a file"],
        related=at.related("pickled here"),
        fixes=[Fix(f"def {name} at the top of the file", edits)],
    )
