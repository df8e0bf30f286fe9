"""While a program is traced, the Python functions of torch hear of proxies: one call, one node.

The functions stay the objects they are, wherever a program holds them: their code is exchanged.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types

import rushlight as torch

from .proxy import Proxy, map_aggregate

# Of torch.nn.functional those that call other functions in PyTorch, too.
_OPEN = frozenset(
    "sigmoid tanh grouped_mm infer_size product scaled_mm upsample upsample_bilinear "
    "upsample_nearest".split()
)
_OF_INIT = "constant_ kaiming_uniform_ normal_ uniform_".split()
_OF_TORCH = (
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist "
    "chain_matmul combinations einsum get_device gradient histogramdd is_complex is_conj "
    "is_distributed is_floating_point is_inference is_neg is_nonzero is_same_size is_signed lobpcg "
    "lu meshgrid norm norm_except_dim numel pca_lowrank split stft svd_lowrank sym_float sym_int "
    "sym_ite sym_max sym_min sym_not sym_sqrt sym_sum tensordot unique unique_consecutive "
    "unravel_index"
).split()
# Functions of PyTorch's core, whose arguments stay as they were written.
_AS_WRITTEN = frozenset("combinations gradient histogramdd norm_except_dim".split())
_depth = 0
_originals: list = []


@functools.cache
def _functions() -> list:
    F = torch.nn.functional
    named = [(F, n) for n in dir(F) if not n.startswith("_") and n not in _OPEN]
    named += [(torch.nn.init, name) for name in _OF_INIT]
    named += [(torch, name) for name in _OF_TORCH]
    found = {id(f): f for place, name in named if (f := getattr(place, name, None)) is not None}
    return [
        (function, _code_of(function))
        for function in found.values()
        if isinstance(function, types.FunctionType) and function.__module__.startswith("rushlight")
    ]


def _call_heard(*args, **kwargs):
    heard = "the function"  # put in below
    return heard(args, kwargs)


def _code_of(function):
    original = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    original.__kwdefaults__ = function.__kwdefaults__
    vars(original).update(vars(function))

    def heard(args, kwargs):
        proxy = None

        def note(each):
            nonlocal proxy
            if isinstance(each, Proxy):
                proxy = each
            return each

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if proxy is None:
            return original(*args, **kwargs)
        if function.__name__ not in _AS_WRITTEN:
            args, kwargs = _spelled_out(original, args, kwargs)
        return type(proxy).__torch_function__(function, (), args, kwargs)

    template = _call_heard.__code__
    constants = tuple(heard if c == "the function" else c for c in template.co_consts)
    names = function.__code__.co_freevars  # as many as the function has, though none is read
    return template.replace(co_consts=constants, co_name=function.__name__, co_freevars=names)


@functools.cache
def _signature(function):
    return inspect.signature(function)


def _spelled_out(function, args, kwargs) -> tuple:
    """All arguments: those without a default by position, the others by name."""
    try:
        bound = _signature(function).bind(*args, **kwargs)
    except TypeError:
        function(*args, **kwargs)  # raises with the function's own words
        raise
    all_named = function.__name__ in _OF_INIT
    bound.apply_defaults()
    positional, named = [], {}
    for name, parameter in _signature(function).parameters.items():
        value = bound.arguments[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif (
            parameter.default is parameter.empty
            and parameter.kind is not parameter.KEYWORD_ONLY
            and not all_named
        ):
            positional.append(value)
        else:
            named[name] = value
    return tuple(positional), named


@contextlib.contextmanager
def hearing():
    """In this block calls of torch's Python functions with proxies become nodes."""
    global _depth
    _depth += 1
    if _depth == 1:
        for function, code in _functions():
            _originals.append((function, function.__code__))
            function.__code__ = code
    try:
        yield
    finally:
        _depth -= 1
        if _depth == 0:
            while _originals:
                function, code = _originals.pop()
                function.__code__ = code
