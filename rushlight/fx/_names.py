"""Names under which programs find functions and types, as they are written in graphs and code."""

from __future__ import annotations

import builtins
import functools
import inspect
import re
import types

import rushlight as torch
from rushlight import _C

# Modules whose functions have a public home, in the order in which homes are tried.
_HOMES = ("nn.functional", "functional")
_OF_FUNCTIONAL = frozenset(
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod "
    "cdist chain_matmul einsum lu meshgrid norm split stft tensordot unique unique_consecutive "
    "unravel_index".split()
)
_OTHER_HOMES = {
    "lobpcg": "torch._lobpcg", "manual_seed": "torch.random", "pca_lowrank": "torch._lowrank",
    "svd_lowrank": "torch._lowrank",
}  # fmt: skip
_FUNCTIONS, _METHODS = type(_C._functions_table["relu"]), type(torch.Tensor.relu)


@functools.cache
def _core_names() -> dict:
    """id of each function of the core -> its qualified name."""
    found: dict = {}
    places = (("", ""), ("_nn", ""), ("_linalg", "linalg_"), ("_special", "special_"),
              ("_fft", "fft_"))  # fmt: skip
    for place, prefix in places:
        table = getattr(_C, f"{place}_table") if place else _C._functions_table
        home = f"torch._C.{place}" if place else "torch"
        for name, function in table.items():
            known = f"{home}.{prefix}{name}"
            mine = getattr(function, "__name__", None) == prefix + name
            if mine or id(function) not in found:
                found[id(function)] = known
    # Functions of Python in PyTorch.
    found[id(torch.nn.functional.pad)] = "torch.nn.functional.pad"
    return found


def public_module(module: str) -> str:
    """The name of a module of this package as programs write it: rushlight.nn is torch.nn."""
    head, dot, rest = module.partition(".")
    return f"torch{dot}{rest}" if head == "rushlight" else module


def is_from_torch(obj) -> bool:
    """Whether code can reach ``obj`` through the name torch."""
    if isinstance(obj, _METHODS):
        return False
    module = getattr(obj, "__module__", None)
    if module is not None:
        head, _, rest = module.partition(".")
        return head in ("rushlight", "torch") and rest.partition(".")[0] != "_dynamo"
    name = getattr(obj, "__name__", None)
    if name is None or name == "torch":
        return False
    return any(getattr(place, name, None) is obj for place in (torch, torch.nn.functional))


def module_of(function) -> str:
    """The module in which ``function`` is found."""
    if isinstance(function, _FUNCTIONS):
        known = _core_names().get(id(function))
        if known is not None:
            return known.rpartition(".")[0]
    name = function.__name__
    module = function.__module__
    if module is not None and not module.startswith("rushlight._C"):
        if module.startswith("rushlight."):
            return _home(module, name, function)
        return public_module(module)
    for home in ("", "nn.functional"):
        place = functools.reduce(getattr, home.split(".") if home else (), torch)
        if getattr(place, name, None) is function:
            return f"torch.{home}".rstrip(".")
    raise RuntimeError(f"cannot find module for {function}")


def _home(module: str, name: str, function) -> str:
    """Where a function of this package is public: its file may be another."""
    for home in _HOMES:
        below = f"rushlight.{home}."
        if module.startswith(below) or (home == "functional" and name in _OF_FUNCTIONAL):
            place = functools.reduce(getattr, home.split("."), torch)
            if getattr(place, name, None) is function:
                return f"torch.{home}"
    if getattr(torch, name, None) is function:
        return _OTHER_HOMES.get(name, "torch")
    return public_module(module)


def qualified_name(func) -> str:
    """The dotted name of ``func``; RuntimeError where there is none."""
    if getattr(builtins, func.__name__, None) is func:
        return func.__name__
    if isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType, _METHODS)):
        if getattr(torch.Tensor, func.__name__, None) is func:
            return f"torch.Tensor.{func.__name__}"
        raise AttributeError(f"{type(func).__name__!r} object has no attribute '__module__'")
    name = func.__name__
    if name == "<lambda>":
        name = _name_of_lambda(func)
    if isinstance(func, _FUNCTIONS) and id(func) in _core_names():
        return _core_names()[id(func)]
    module = module_of(func).replace("torch._ops", "torch.ops")
    return f"{module}.{name}"


def _name_of_lambda(func) -> str:
    try:
        return inspect.getsource(func).split("=")[0].strip()
    except Exception as error:
        raise RuntimeError("Unable to represent lambda") from error


def type_repr(obj) -> str:
    """A type as annotations write it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{public_module(obj.__module__)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return re.sub(r"\brushlight\.", "torch.", repr(obj)) if _mentions_types(obj) else repr(obj)


def _mentions_types(obj) -> bool:
    return hasattr(obj, "__args__") or hasattr(obj, "__origin__")
