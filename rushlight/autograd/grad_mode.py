"""Switches for recording gradients, as context managers and decorators."""

from __future__ import annotations

from .. import _C

__all__ = [
    "enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


_multithreading = True


def _wrapped_generator(context, function):
    from functools import wraps

    # The switch is on only while the generator's own code runs.
    @wraps(function)
    def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        try:
            with context():
                response = generator.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with context():
                        generator.close()
                    raise
                except BaseException as error:
                    with context():
                        response = generator.throw(error)
                else:
                    with context():
                        response = generator.send(request)
        except StopIteration as end:
            return end.value

    return wrapper


def context_decorator(context, function):
    """``function`` with ``context()`` entered around each call, or each step of a generator."""
    if isinstance(function, type):
        import warnings

        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should "
            "only decorate functions or methods. To preserve the current behavior of class "
            "decoration, you can directly decorate the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        original = function

        def function(*args, **kwargs):
            return original(*args, **kwargs)

    from functools import wraps
    from inspect import isgeneratorfunction

    if isgeneratorfunction(function):
        return _wrapped_generator(context, function)

    @wraps(function)
    def decorate_context(*args, **kwargs):
        with context():
            return function(*args, **kwargs)

    return decorate_context


class _Decorator:
    """Makes a context manager of the core a decorator, with and without parentheses."""

    __slots__ = ()

    def __call__(self, func):
        return context_decorator(self.clone, func)

    def clone(self):
        """A switch of the same kind and setting."""
        return type(self)()


class no_grad(_Decorator, _C._NoGrad):
    """Switches recording off: results need no gradients, and nothing is kept for backward.

    A context manager and a decorator (also of generators); it acts on the calling thread.
    """

    __slots__ = ()


class enable_grad(_Decorator, _C._EnableGrad):
    """Switches recording on, inside ``no_grad`` or ``set_grad_enabled(False)``."""

    __slots__ = ()


class inference_mode(_Decorator, _C._InferenceMode):
    """Recording off, and results that can never be part of a graph; ``mode=False`` leaves it."""

    __slots__ = ()

    def clone(self):
        """A switch of the same setting."""
        return type(self)(self.mode)


class set_grad_enabled(_Decorator):
    """Switches recording on or off at once; as a context manager, until the block ends."""

    def __init__(self, mode: bool):
        self.prev = _C.is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, func):
        _C._set_grad_enabled(self.prev)
        return super().__call__(func)

    def __enter__(self):
        _C._set_grad_enabled(self.mode)

    def __exit__(self, exc_type, exc_value, traceback):
        _C._set_grad_enabled(self.prev)

    def __str__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__

    def clone(self):
        """A switch of the same setting."""
        return type(self)(self.mode)


class set_multithreading_enabled(_Decorator):
    """Says whether backward may use threads for several devices; on the CPU it changes nothing."""

    def __init__(self, mode: bool):
        global _multithreading
        self.prev = _multithreading
        self.mode = _multithreading = mode

    def __enter__(self):
        pass

    def __exit__(self, exc_type, exc_value, traceback):
        global _multithreading
        _multithreading = self.prev

    def clone(self):
        """A switch of the same setting."""
        return type(self)(self.mode)


class _unsafe_preserve_version_counter:
    """Puts back the versions that tensors had before the block."""

    def __init__(self, tensors):
        self.tensors = (tensors,) if isinstance(tensors, _C.TensorBase) else tuple(tensors)
        self.versions = tuple(t._version for t in self.tensors)

    def __enter__(self):
        return None

    def __exit__(self, *error):
        for tensor, version in zip(self.tensors, self.versions):
            tensor._set_version(version)
