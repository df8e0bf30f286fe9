"""Arguments of calls in the order and under the names of the target's signature."""

from __future__ import annotations

import inspect
import types
from typing import NamedTuple

from rushlight import _absent, overrides

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Positional and keyword arguments."""

    args: tuple
    kwargs: dict


def _of_core(target):
    """The signature of a function of the core, if it has one only."""
    records = overrides._records().get(target.__name__, ())
    if len(records) != 1:
        return None
    text = records[0]["signature"].partition("(")[2].rpartition(") ->")[0]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    found = []
    for part in _parts(text):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        declared, equals, default = part.partition("=")
        name = declared.split()[-1]
        value = _value(default) if equals else inspect.Parameter.empty
        found.append(inspect.Parameter("input" if name == "self" else name, kind, default=value))
    return inspect.Signature(found)


def _parts(text: str) -> list:
    found, depth = [""], 0
    for character in text:
        depth += (character in "[(") - (character in "])")
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return [part.strip() for part in found if part.strip()]


def _value(text: str):
    known = {"None": None, "True": True, "False": False}
    if text in known:
        return known[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("'\"")


def _bound(signature, args, kwargs, by_name: bool) -> ArgsKwargsPair | None:
    kinds = {p.kind for p in signature.parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        return None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    positional, named = [], {}
    for at, (name, value) in enumerate(bound.arguments.items()):
        if by_name or at >= len(args):
            named[name] = value
        else:
            positional.append(value)
    return ArgsKwargsPair(tuple(positional), named)


def normalize_function(
    target, args, kwargs=None, arg_types=None, kwarg_types=None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a call of ``target`` with defaults filled in, or None if it is not known.

    Functions of Python and functions of the core that have one signature are known.
    """
    if isinstance(target, str):
        raise AssertionError("target should not be a string here")
    if isinstance(target, types.FunctionType):
        signature = inspect.signature(target)
    elif type(target).__name__ == "Function":
        signature = _of_core(target)
    else:
        return None
    if signature is None:
        return None
    return _bound(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root, target: str, args, kwargs=None, normalize_to_only_use_kwargs: bool = False
) -> ArgsKwargsPair | None:
    """The arguments of a call of a module of torch.nn with defaults filled in, or None."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    if not type(module).__module__.startswith("rushlight.nn"):
        return None
    signature = inspect.signature(type(module).forward)
    own = signature.replace(parameters=list(signature.parameters.values())[1:])
    return _bound(own, args, kwargs or {}, normalize_to_only_use_kwargs)


__getattr__ = _absent.names("fx.operator_schemas")
