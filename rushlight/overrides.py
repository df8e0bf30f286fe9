"""Overriding ops: __torch_function__ on classes, and modes that hear every call."""

from __future__ import annotations

from . import _C

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
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


_local = None


def _stack() -> list:
    # Made when first needed: most programs enter no mode.
    global _local
    if _local is None:
        from threading import local

        _local = local()
    try:
        return _local.stack
    except AttributeError:
        _local.stack = stack = []
        return stack


def _get_current_function_mode_stack() -> list:
    return list(_stack())


def _get_current_function_mode():
    stack = _stack()
    return stack[-1] if stack else None


def _call_mode(function, types, args, kwargs):
    """Asks the innermost mode; the core calls this while one is on."""
    stack = _stack()
    if not stack:
        return NotImplemented
    mode = stack.pop()
    _C._set_function_mode(bool(stack))
    try:
        return mode.__torch_function__(function, types, args, kwargs)
    finally:
        stack.append(mode)
        _C._set_function_mode(True)


def _overrides(kind) -> bool:
    method = getattr(kind, "__torch_function__", None)
    if method is None or kind is _C.Tensor or kind is _C.TensorBase:
        return False
    return not getattr(method, "_disabled_torch_function", False)


def has_torch_function(relevant_args) -> bool:
    """Whether one of ``relevant_args`` overrides, or a mode is on."""
    return bool(_local is not None and _stack()) or any(
        _overrides(type(each)) for each in relevant_args
    )


def has_torch_function_unary(argument) -> bool:
    """Whether ``argument`` overrides, or a mode is on."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*arguments) -> bool:
    """Whether one of ``arguments`` overrides, or a mode is on."""
    return has_torch_function(arguments)


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
    if _local is not None and _stack():
        result = _call_mode(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for each in overloaded:
        result = type(each).__torch_function__(public_api, types, args, kwargs)
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


def is_tensor_method_or_property(func) -> bool:
    """Whether ``func`` belongs to the tensor class: a method, or the getter of a property."""
    if getattr(func, "__name__", None) == "__get__":
        return True
    name = getattr(func, "__name__", "")
    return name in dir(_C.Tensor) and getattr(_C.Tensor, name, None) is func


def resolve_name(f):
    """The dotted name under which ``f`` is known, or None."""
    name = getattr(f, "__name__", None)
    if name is None:
        return None
    if getattr(_C.Tensor, name, None) is f:
        return f"torch.Tensor.{name}"
    return f"{getattr(f, '__module__', None) or 'torch'}.{name}"


def enable_reentrant_dispatch():
    """A block that changes nothing: overrides are never off inside an override of ours."""
    from contextlib import nullcontext

    return nullcontext()
