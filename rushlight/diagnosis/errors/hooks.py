"""Errors of module hooks: arguments that they do not take, results that are not the module's."""

from __future__ import annotations

import ast

from rushlight import nn

from .. import frames, upstream
from ..finding import Fix
from ..registry import explains, kind
from . import Raised

kind(
    "hook-arguments",
    "A hook does not take the arguments that it is called with",
    """
Each kind of hook is called with arguments of its own: forward hooks with (module, args, output),
forward pre-hooks with (module, args), full backward hooks with (module, grad_input, grad_output),
full backward pre-hooks with (module, grad_output). They come by position, whatever the names are;
a method or a function in a class gets them behind self. It shows only when the hook is called.
""",
)
kind(
    "hook-changes-result",
    "A hook returned something in place of the module's own result",
    """
What a forward hook returns, unless it is None, takes the place of the module's output, and what a
forward pre-hook returns takes the place of its arguments (a tuple of them, or one value). A hook
that returns more than that, such as the output together with what it has measured, breaks the
module that comes next. Keep what was measured elsewhere and return nothing.
""",
)

# By the attribute of a module that keeps them: what a hook is called with.
ARGUMENTS = {
    "_forward_hooks": ("module", "args", "output"),
    "_forward_pre_hooks": ("module", "args"),
    "_backward_hooks": ("module", "grad_input", "grad_output"),
    "_backward_pre_hooks": ("module", "grad_output"),
}
MODULES = ("module", "mod", "m", "layer", "net", "model", "_module", "_")


def _registered(raised: Raised):
    """(attribute, function) of the user's hooks on the modules that are in sight."""
    seen = set()
    for root in [*raised.modules(), *(v for v in raised.held() if isinstance(v, nn.Module))]:
        for module in root.modules():
            if id(module) in seen:
                continue
            seen.add(id(module))
            for attribute in ARGUMENTS:
                for hook in (getattr(module, attribute, None) or {}).values():
                    function = getattr(hook, "__func__", hook)
                    code = getattr(function, "__code__", None)
                    if code is not None and frames.is_user_code(code):
                        yield attribute, function


@explains(
    TypeError,
    r"(\S+)\(\) (?:takes (\d+) positional arguments? but (\d+) (?:was|were) given"
    r"|missing (\d+) required positional arguments?)",
)
def arguments(raised: Raised):
    """A hook's parameters, completed to those of its kind."""
    for attribute, function in _registered(raised):
        if function.__qualname__ != raised.match[1]:
            continue
        found = upstream.definition(function)
        if found is None:
            continue
        source, node = found
        wanted = ARGUMENTS[attribute]
        own = node.args.args
        names = [a.arg for a in own]
        behind = [n for n in names if n != "self"]
        if len(behind) == len(wanted) or node.args.vararg or node.args.posonlyargs:
            continue
        at, kind_ = raised.innermost, attribute.strip("_").replace("_", " ").removesuffix("s")
        fixes = []
        if behind and len(behind) < len(wanted):
            first = next(a for a in own if a.arg != "self")
            changed = _completed(behind, wanted)
            place = changed.index(behind[0])
            after = [n for n in changed[place + 1 :] if n not in behind]
            new = ", ".join([*changed[:place], source.segment(first), *after])
            fixes.append(source.fix(first, new, f"({', '.join(changed)})"))
        return raised.finding(
            "hook-arguments",
            f"a {kind_} is called with {len(wanted)} arguments and takes {len(behind)}",
            (source.file, node.lineno),
            evidence=[f"it is called with {len(wanted)}: ({', '.join(wanted)})"],
            related=at.related("where it was called"),
            fixes=fixes,
        )
    return None


def _completed(names: list[str], wanted: tuple[str, ...]) -> list[str]:
    """A hook's names with those that it lacks: the module in front, arguments behind it."""
    if names[0] not in MODULES and "module" not in names[0]:
        rest = [n for n in wanted[1:] if n not in names]
        names = ["module", *names]
        return [*names, *rest[: len(wanted) - len(names)]]
    rest = [n for n in wanted[1:] if n not in names]
    missing = len(wanted) - len(names)
    return [names[0], *rest[:missing], *names[1:]]


@explains((TypeError, AttributeError, RuntimeError), r"tuple|list|dict|positional argument")
def result(raised: Raised):
    """A hook whose result is a tuple, list or dict where the module's own is a tensor."""
    for attribute, function in _registered(raised):
        forward = attribute == "_forward_hooks"
        if not forward and attribute != "_forward_pre_hooks":
            continue
        code = function.__code__
        names = [n for n in code.co_varnames[: code.co_argcount] if n != "self"]
        for spot in upstream.returned(function):
            fix = _of_output(spot, names) if forward else _of_arguments(spot)
            if fix is None or not _is_cause(raised, spot, forward):
                continue
            at = raised.innermost
            count = len(getattr(spot.node, "elts", None) or spot.node.keys)
            what = "the module's output" if forward else "its arguments"
            return raised.finding(
                "hook-changes-result",
                f"a hook gives {spot.text} in place of {what}",
                spot.place,
                evidence=[f"{count} values are returned; what comes next takes 1"],
                related=at.related("the call that got them"),
                fixes=[fix],
            )
    return None


def _of_output(spot, names) -> Fix | None:
    """``return output, norm``: the output alone."""
    if not isinstance(spot.node, (ast.Tuple, ast.List, ast.Dict)) or len(names) < 3:
        return None
    parts = spot.node.values if isinstance(spot.node, ast.Dict) else spot.node.elts
    read = [p for p in parts if any(getattr(n, "id", "") == names[-1] for n in ast.walk(p))]
    if not read:
        return None
    text = spot.source.segment(read[0])
    return spot.fix(text, f"{text} alone")


def _of_arguments(spot) -> Fix | None:
    """``return args[0] * 2, scale``: the first one alone."""
    if not isinstance(spot.node, ast.Tuple) or len(spot.node.elts) < 2:
        return None
    text = spot.source.segment(spot.node.elts[0])
    return spot.fix(text, f"{text} alone")


def _is_cause(raised: Raised, spot, forward: bool) -> bool:
    """Whether the error speaks of as many values, or of the type that the hook returns."""
    if not forward:
        return ".forward() takes" in raised.message
    name = type(spot.node).__name__.lower()
    return name in raised.message
