"""Layers, losses, initial values and their functional forms."""

from __future__ import annotations

from . import functional, init, modules, parameter, utils
from .modules import _HOME, Module
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

_SUBMODULES = frozenset(
    "attention common_types grad intrinsic parallel qat quantizable quantized".split()
)

__all__ = [  # noqa: PLE0604
    *_HOME,
    "Buffer",
    "Module",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "factory_kwargs",
    "functional",
    "init",
    "modules",
    "parameter",
    "utils",
]


def factory_kwargs(kwargs):
    """The options device, dtype and memory_format out of ``kwargs``, for a factory function."""
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    expected = simple | {"factory_kwargs"}
    if not kwargs.keys() <= expected:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - expected}")
    result = dict(kwargs.get("factory_kwargs", {}))
    for key in simple:
        if key in kwargs:
            if key in result:
                raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
            result[key] = kwargs[key]
    return result


def __getattr__(name):
    if name in _HOME:
        value = getattr(modules, name)
        globals()[name] = value
        return value
    if name == "LinearCrossEntropyOptions":
        return modules.LinearCrossEntropyOptions
    if name == "DataParallel":
        from .parallel import DataParallel

        return DataParallel
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_HOME, *_SUBMODULES, "DataParallel"})
