"""Overriding ops: __torch_function__ on classes, and modes that hear every call."""

from __future__ import annotations

from . import _C

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """A ``__torch_function__`` that runs ``func`` as if no class overrode anything."""
    before = _C._set_subclass_overrides(False)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _C._set_subclass_overrides(before)


_disabled_torch_function_impl._disabled_torch_function = True


class DisableTorchFunctionSubclass:
    """Switches the ``__torch_function__`` of tensor classes off inside a block."""

    def __enter__(self):
        self._before = _C._set_subclass_overrides(False)

    def __exit__(self, *error):
        _C._set_subclass_overrides(self._before)


_C.DisableTorchFunctionSubclass = DisableTorchFunctionSubclass


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Switches classes' overrides and function modes off inside a block."""

    def __enter__(self):
        super().__enter__()
        self._mode = _C._set_function_mode(False)

    def __exit__(self, *error):
        _C._set_function_mode(self._mode)
        super().__exit__(*error)


def _convert(result, cls):
    if cls is _C.Tensor:
        return result
    if isinstance(result, _C.Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        converted = [_convert(each, cls) for each in result]
        if isinstance(result, tuple) and hasattr(result, "n_sequence_fields"):
            return type(result)(converted)
        if hasattr(result, "_fields"):
            return type(result)(*converted)
        return type(result)(converted)
    return result


def default_torch_function(cls, func, types, args=(), kwargs=None):
    """What classes of tensors do unless they say otherwise: run, and results are of the class."""
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    before = _C._set_subclass_overrides(False)
    try:
        result = func(*args, **(kwargs or {}))
    finally:
        _C._set_subclass_overrides(before)
    return result if func in get_default_nowrap_functions() else _convert(result, cls)


_nowrap = None


def get_default_nowrap_functions() -> set:
    """Functions whose results keep their class: getters of what a tensor holds."""
    global _nowrap
    if _nowrap is None:
        tensor = _C.Tensor
        names = ("_base", "grad", "_grad")
        _nowrap = {getattr(tensor, name).__get__ for name in names if hasattr(tensor, name)}
    return _nowrap


class TorchFunctionMode:
    """A block in which ``__torch_function__`` of this object hears every call of the API.

    Subclasses define ``__torch_function__(self, func, types, args=(), kwargs=None)``; while it
    runs, the mode itself is off and the modes outside it are on.
    """

    inner = None
    _hear = None  # of a mode that changes nothing: called with (func, args, kwargs, result)

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _stack().append(self)
        _C._set_function_mode(True)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        stack = _stack()
        stack.pop()
        _C._set_function_mode(bool(stack))

    @classmethod
    def push(cls, *args, **kwargs):
        """Makes a mode, to be entered."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


_stack = _C._function_modes  # of this thread, the innermost last


def _get_current_function_mode_stack() -> list:
    return list(_stack())


def _get_current_function_mode():
    stack = _stack()
    return stack[-1] if stack else None


def _enter_outermost(mode) -> None:
    """Enters a mode outside of those that are on."""
    _stack().insert(0, mode)
    _C._set_function_mode(True)


def _leave_wherever(mode) -> bool:
    """Leaves a mode that may have others inside of it; whether it was on in this thread."""
    stack = _stack()
    if mode not in stack:
        return False
    stack.remove(mode)
    _C._set_function_mode(bool(stack))
    return True


def only_heard(*relevant_args) -> bool:
    """Whether nobody would answer: no argument overrides, and the modes that are on look on."""
    looking = all(mode._hear is not None for mode in _stack())
    return looking and not any(_overrides(type(each)) for each in relevant_args)


def _overrides(kind) -> bool:
    method = getattr(kind, "__torch_function__", None)
    if method is None or kind is _C.Tensor or kind is _C.TensorBase:
        return False
    return not getattr(method, "_disabled_torch_function", False)


has_torch_function_variadic = _C._has_torch_function_variadic
has_torch_function_unary = has_torch_function_variadic


def has_torch_function(relevant_args) -> bool:
    """Whether one of ``relevant_args`` overrides, or a mode is on."""
    return has_torch_function_variadic(*relevant_args)


def _get_overloaded_args(relevant_args, get_type_fn=type) -> list:
    found: list = []
    for each in relevant_args:
        kind = get_type_fn(each)
        if not _overrides(kind) or any(get_type_fn(f) is kind for f in found):
            continue
        at = next((i for i, f in enumerate(found) if issubclass(kind, get_type_fn(f))), len(found))
        found.insert(at, each)
    return found


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Calls the overrides of ``relevant_args`` for ``public_api`` until one answers."""
    overloaded = _get_overloaded_args(relevant_args)
    types = tuple(map(type, overloaded))
    if _stack():
        result = _C._call_mode(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for each in overloaded:
        result = each.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement "
        f"__torch_function__: {[type(each) for each in overloaded]}"
    )


def wrap_torch_function(dispatcher):
    """Makes a function overridable: ``dispatcher`` returns its arguments that may override."""
    from functools import wraps

    def inner(func):
        @wraps(func)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp) -> bool:
    """Whether ``inp`` is a tensor or has ``__torch_function__``."""
    return type(inp) is _C.Tensor or hasattr(inp, "__torch_function__")


def _namespaces() -> list:
    """(dotted name, namespace) of where functions that can be overridden live."""
    import rushlight as torch

    names = ("functional", "nn.functional", "nn.init", "linalg", "fft", "special")
    found = [("torch", torch)]
    for name in names:
        place = torch
        for part in name.split("."):
            place = getattr(place, part, None)
        if place is not None:
            found.append((f"torch.{name}", place))
    return [*found, ("torch.Tensor", torch.Tensor)]


def _members(place) -> list:
    """(name, function) of a namespace; a property counts by its getter and its setter."""
    of_class = isinstance(place, type)
    public = None if of_class else getattr(place, "__all__", None)
    found = []
    for name in public or dir(place):
        if name.startswith("_") and not (of_class and name.startswith("__")):
            continue
        if name in _NOT_OVERRIDABLE:
            continue
        value = getattr(place, name, None)
        if isinstance(value, type) or value is None:
            continue
        if of_class and getattr(object, name, None) is value:
            continue
        if callable(value):
            found.append((name, value))
        elif of_class and hasattr(value, "__get__"):
            found.append((name + ".__get__", value.__get__))
            if hasattr(value, "__set__"):
                found.append((name + ".__set__", value.__set__))
    return found


def _takes_tensors(function) -> bool:
    """False for functions that no argument could override: those of settings and of modes."""
    kind = type(function).__name__
    if kind != "Function":
        return kind in ("function", "Method", "TensorMethod", "method-wrapper", "method_descriptor")
    return not any(
        entry["kind"] == "factory" and "Tensor" not in entry["signature"].partition("->")[0]
        for entry in _records().get(function.__name__, ())
    )


_by_name = None


def _records() -> dict:
    global _by_name
    if _by_name is None:
        _by_name = {}
        for entry in _C.op_table():
            _by_name.setdefault(entry["python"], []).append(entry)
    return _by_name


_NOT_OVERRIDABLE = {
    "__class__", "__delattr__", "__dict__", "__getattribute__", "__init__", "__init_subclass__",
    "__new__", "__setattr__", "__setstate__", "__str__", "__subclasshook__", "__torch_function__",
    "__weakref__", "__module__", "__doc__", "__array_priority__", "__iter__", "__hash__",
    "as_subclass", "_make_subclass",
}  # fmt: skip


def get_overridable_functions() -> dict:
    """The functions that ``__torch_function__`` can override, by the namespace they live in."""
    found: dict = {}
    for _, place in _namespaces():
        functions = [f for _, f in _members(place) if _takes_tensors(f)]
        if functions:
            found[place] = functions
    return found


def get_ignored_functions() -> set:
    """Public functions that cannot be overridden: no argument of theirs is a tensor."""
    return {f for _, place in _namespaces() for _, f in _members(place) if not _takes_tensors(f)}


def get_testing_overrides() -> dict:
    """For each function that can be overridden, one of as free a signature that returns -1."""
    return {f: _minus_one for each in get_overridable_functions().values() for f in each}


def _minus_one(*args, **kwargs):
    return -1


def is_tensor_method_or_property(func) -> bool:
    """Whether ``func`` belongs to the tensor class: a method, or the getter of a property."""
    name = getattr(func, "__name__", "")
    return name == "__get__" or (bool(name) and func == getattr(_C.Tensor, name, None))


_names: dict = {}


def resolve_name(f):
    """The dotted name under which ``f`` is known, or None."""
    if isinstance(f, (str, type)):
        return None
    for again in (False, True):
        try:
            if (name := _names.get(f)) is not None or again:
                return name
        except TypeError:
            return None
        for prefix, place in _namespaces():
            for name, function in _members(place):
                _names.setdefault(function, f"{prefix}.{name}")
    return None


def enable_reentrant_dispatch():
    """A block that changes nothing: overrides are never off inside an override of ours."""
    from contextlib import nullcontext

    return nullcontext()
