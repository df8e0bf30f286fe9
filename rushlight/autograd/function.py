"""Functions with a backward of their own."""

from __future__ import annotations

import rushlight as torch

from .. import _C

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "NestedIOFunction",
    "once_differentiable",
]


class FunctionCtx:
    """What ``ctx`` offers to ``forward`` and ``backward`` of a custom function."""

    # save_for_backward, save_for_forward, mark_dirty, mark_non_differentiable and
    # set_materialize_grads are the core's.

    def mark_shared_storage(self, *pairs):
        """Does nothing: shared memory is noticed."""
        import warnings

        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically "
            "tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )


class _HookMixin:
    """Kept for its name; nodes have ``register_hook`` of their own."""


class BackwardCFunction(_C._FunctionBase, FunctionCtx, _HookMixin):
    """The base of the classes whose objects are ``ctx`` and ``grad_fn``."""

    def apply(self, *args):
        """Calls backward with gradients of the results."""
        return self._forward_cls._backward_function(self, *args)

    def apply_jvp(self, *args):
        """Calls jvp with tangents of the arguments."""
        return self._forward_cls.jvp(self, *args)

    def __repr__(self):
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


def _both_given(ctx, *grad_outputs):
    raise RuntimeError(
        "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should "
        "only implement one of them."
    )


class FunctionMeta(type):
    """Gives each function class the class of its context, named after it."""

    def __init__(cls, name, bases, attrs):
        super().__init__(name, bases, attrs)
        backward_cls = type(
            name + "Backward",
            (BackwardCFunction,),
            {"_forward_cls": cls, "__module__": "torch.autograd.function"},
        )
        cls._backward_cls = backward_cls

    @property
    def _has_setup_context(cls) -> bool:
        return cls.setup_context is not _SingleLevelFunction.setup_context

    @property
    def _backward_function(cls):
        backward, vjp = cls.backward, cls.vjp
        if vjp is _SingleLevelFunction.vjp:
            return backward
        return vjp if backward is _SingleLevelFunction.backward else _both_given


class _SingleLevelFunction(_C._FunctionBase, FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    @staticmethod
    def forward(*args, **kwargs):
        """Computes the results; ``forward(ctx, *args)``, or without ``ctx`` (setup_context)."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keeps what backward needs, where ``forward`` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Gradients of the arguments, one per argument, from those of the results."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def vjp(ctx, *grad_outputs):
        """Another name of ``backward``."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Tangents of the results from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )


class Function(_SingleLevelFunction):
    """The base of functions with a backward of their own.

    Subclasses define static methods ``forward`` and ``backward``; the function is called as
    ``Name.apply(*args)``. Two forms: ``forward(ctx, *args)``, or ``forward(*args)`` together
    with ``setup_context(ctx, inputs, output)``.
    """

    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        import warnings

        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """The rule for vmap."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )


def bind_default_args(func, *args, **kwargs) -> tuple:
    """The positional arguments of a call of ``func``, defaults included."""
    from inspect import signature

    bound = signature(func).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


class _NotTwice(_SingleLevelFunction):
    @staticmethod
    def forward(ctx, *grads):
        return grads if len(grads) > 1 else grads[0]

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def once_differentiable(fn):
    """Marks a backward whose own computation is not differentiable."""
    from functools import wraps

    @wraps(fn)
    def wrapper(ctx, *args):
        with torch.no_grad():
            outputs = fn(ctx, *args)
        if not torch.is_grad_enabled() or not any(
            isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args
        ):
            return outputs
        single = not isinstance(outputs, tuple)
        made = [outputs] if single else list(outputs)
        places = [i for i, each in enumerate(made) if each is not None]
        refused = _NotTwice.apply(*(made[i].detach().requires_grad_() for i in places))
        for i, each in zip(places, refused if len(places) > 1 else (refused,)):
            made[i] = each
        return made[0] if single else tuple(made)

    return wrapper




class NestedIOFunction(Function):
    """Refused: functions of nested inputs with non-static methods."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            "NestedIOFunction uses non-static methods; define static forward and backward of a "
            "torch.autograd.Function instead."
        )
