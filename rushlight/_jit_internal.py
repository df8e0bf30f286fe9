"""What torch.jit is made of, as far as libraries mention it: marks that change nothing."""

from __future__ import annotations

from typing import Any, Final, Optional, Union  # noqa: F401

from .futures import Future  # noqa: F401
from .jit import _overload, _overload_method, export, ignore, is_scripting, unused  # noqa: F401


class BroadcastingListCls:
    """A type in annotations: one item, or a list of as many as the name says."""

    def __getitem__(self, types):
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingListCls()


def _copy_to_script_wrapper(fn):
    """Returns ``fn`` as it is: no script class is made that would take it over."""
    return fn


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls ``if_true`` or ``if_false``, as its argument ``arg_name`` says."""

    def chosen(*args, **kwargs):
        asked = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if asked else if_false)(*args, **kwargs)

    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    if func_name is not None:
        chosen.__name__ = func_name
    if module_name is not None:
        chosen.__module__ = module_name
    return chosen


def is_tuple(annotation) -> bool:
    """Whether an annotation is a tuple's."""
    return getattr(annotation, "__origin__", annotation) is tuple


def is_list(annotation) -> bool:
    """Whether an annotation is a list's."""
    return getattr(annotation, "__origin__", annotation) is list


def is_dict(annotation) -> bool:
    """Whether an annotation is a dictionary's."""
    return getattr(annotation, "__origin__", annotation) is dict


def is_optional(annotation) -> bool:
    """Whether an annotation allows None."""
    return type(None) in getattr(annotation, "__args__", ())
