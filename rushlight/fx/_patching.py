"""While a program is traced: functions that hear of proxies stand in for those of modules."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
from types import SimpleNamespace

import rushlight as torch

from .node import map_aggregate
from .proxy import Proxy

_wrapped_fns_to_patch: dict = {}  # (id of a module's dict, name) -> that dict
_wrapped_methods_to_patch: list = []  # (class, name)
_ABSENT = object()
CURRENT_PATCHER = None


def wrap(fn_or_name):
    """Lets calls of a function of the calling module with proxies become nodes as they are.

    To be called at the top level of the module, with the function or its name, or as a decorator:
    ``torch.fx.wrap("len")``.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _find_proxy(*objects_to_search):
    found = []

    def note(each):
        if isinstance(each, Proxy):
            found.append(each)
        return each

    map_aggregate(objects_to_search, note)
    return found[0] if found else None


def _create_wrapped_func(orig_fn):
    @functools.wraps(orig_fn)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def _create_wrapped_method(cls, name: str):
    original = getattr(cls, name)

    @functools.wraps(original)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


class _Patcher:
    """Puts functions in the place of others, until the end of its block."""

    def __init__(self):
        self.patches_made: list = []  # (how to undo, how to redo)
        self.visited: set = set()
        self.done: set = set()

    def patch(self, frame_dict: dict, name: str, new_fn, deduplicate: bool = True) -> None:
        """Puts ``new_fn`` into a module's dict."""
        if deduplicate and getattr(new_fn, "__fx_already_patched", False):
            return
        before = frame_dict.get(name, _ABSENT)
        if deduplicate and (id(frame_dict), name) in self.done:
            return
        self.done.add((id(frame_dict), name))

        def undo():
            if before is _ABSENT:
                del frame_dict[name]
            else:
                frame_dict[name] = before

        def redo():
            frame_dict[name] = new_fn

        redo()
        self.patches_made.append(SimpleNamespace(revert=undo, patch=redo))

    def patch_method(self, cls, name: str, new_fn, deduplicate: bool = True) -> None:
        """Puts ``new_fn`` into a class."""
        if deduplicate and (id(cls), name) in self.done:
            return
        self.done.add((id(cls), name))
        before = vars(cls).get(name, _ABSENT)

        def undo():
            if before is _ABSENT:
                delattr(cls, name)
            else:
                setattr(cls, name, before)

        def redo():
            setattr(cls, name, new_fn)

        redo()
        self.patches_made.append(SimpleNamespace(revert=undo, patch=redo))

    def visit_once(self, thing) -> bool:
        """Whether ``thing`` comes for the first time."""
        if id(thing) in self.visited:
            return False
        self.visited.add(id(thing))
        return True

    def revert_all_patches(self) -> list:
        """Undoes all; :meth:`reapply_all_patches` does them again."""
        for each in reversed(self.patches_made):
            each.revert()
        _adopt_all()
        return self.patches_made

    def reapply_all_patches(self) -> list:
        """Does again what was undone."""
        for each in self.patches_made:
            each.patch()
        return self.patches_made

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        self.revert_all_patches()
        self.patches_made.clear()
        self.visited.clear()
        self.done.clear()


def _adopt_all() -> None:
    # A changed Module.__getattr__ takes the quick look-up from all classes of modules: back.
    adopt = torch._C.ModuleBase.__dict__["__init_subclass__"]
    pending = [torch.nn.Module]
    while pending:
        cls = pending.pop()
        adopt.__get__(None, cls)()
        pending += cls.__subclasses__()


@contextlib.contextmanager
def _new_patcher():
    global CURRENT_PATCHER
    before = CURRENT_PATCHER
    try:
        with _Patcher() as CURRENT_PATCHER:
            yield CURRENT_PATCHER
    finally:
        CURRENT_PATCHER = before


@contextlib.contextmanager
def _maybe_revert_all_patches():
    patcher = CURRENT_PATCHER
    try:
        if patcher is not None:
            patcher.revert_all_patches()
        yield
    finally:
        if patcher is not None:
            patcher.reapply_all_patches()


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    for (_, name), frame_dict in list(_wrapped_fns_to_patch.items()):
        if name not in frame_dict and hasattr(builtins, name):
            original = getattr(builtins, name)
        else:
            original = frame_dict[name]
        patcher.patch(frame_dict, name, _create_wrapped_func(original))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _autowrap_check(patcher: _Patcher, frame_dict: dict, function_ids: set) -> None:
    if not patcher.visit_once(frame_dict):
        return
    for name, value in list(frame_dict.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(frame_dict, name, _create_wrapped_func(value))
