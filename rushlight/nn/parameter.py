"""Parameters and buffers: tensors that a module registers when they become its attributes."""

from __future__ import annotations

from collections import OrderedDict

import rushlight as torch

from .. import _utils

_TensorMeta = type(torch.Tensor)


class _ParameterMeta(_TensorMeta):
    def __instancecheck__(cls, instance) -> bool:
        # A tensor of another subclass is a parameter when it carries the mark.
        if super().__instancecheck__(instance):
            return True
        return (
            cls is Parameter
            and isinstance(instance, torch.Tensor)
            and getattr(instance, "_is_param", False)
        )


class Parameter(torch.Tensor, metaclass=_ParameterMeta):
    """A tensor that a module counts among its parameters.

    Args:
        data (Tensor): the values; they are shared, not copied.
        requires_grad (bool): whether gradients are wanted (default True, also under no_grad).
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = torch.empty(0)
        if type(data) is torch.Tensor or type(data) is Parameter:
            return torch.Tensor._make_subclass(cls, data, requires_grad)
        tensor = data.detach().requires_grad_(requires_grad)
        if type(tensor) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} "
                "requires that detach() returns an instance of the same type, but return "
                f"type {type(tensor).__name__} was found instead. To use the type as a "
                "Parameter, please correct the detach() semantics defined by "
                "its __torch_dispatch__() implementation."
            )
        tensor._is_param = True
        return tensor

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            data = self.data.clone(memory_format=torch.preserve_format)
            memo[id(self)] = type(self)(data, self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        args = (self.data, self.requires_grad, OrderedDict())  # hooks are not stored
        state = _utils._get_obj_state(self)
        if not state:
            return (_utils._rebuild_parameter, args)
        return (_utils._rebuild_parameter_with_state, (*args, state))

    __torch_function__ = torch._C._disabled_torch_function_impl


torch._C._set_parameter_type(Parameter)


class _BufferMeta(_TensorMeta):
    def __instancecheck__(cls, instance) -> bool:
        if super().__instancecheck__(instance):
            return True
        return (
            cls is Buffer
            and isinstance(instance, torch.Tensor)
            and getattr(instance, "_is_buffer", False)
        )


class Buffer(torch.Tensor, metaclass=_BufferMeta):
    """A tensor that a module counts among its buffers.

    Args:
        data (Tensor): the values; they are shared, not copied.
        persistent (bool): whether the module's ``state_dict`` holds it (default True).
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = torch.empty(0)
        tensor = data.detach().requires_grad_(data.requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor

    __torch_function__ = torch._C._disabled_torch_function_impl


class UninitializedTensorMixin:
    """A parameter or buffer whose shape is still unknown; most uses of it raise."""

    _allowed_methods = [
        getattr(torch.Tensor, name)
        for name in (
            "__hash__", "size", "copy_", "is_complex", "is_floating_point", "half", "float",
            "double", "char", "short", "int", "long", "cpu", "to", "get_device",
        )
        if hasattr(torch.Tensor, name)
    ]  # fmt: skip

    def materialize(self, shape, device=None, dtype=None):
        """Gives this tensor its shape and turns it into an ordinary one, uninitialised."""
        device = self.data.device if device is None else device
        dtype = self.data.dtype if dtype is None else dtype
        self.data = torch.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        """Raises: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. "
            "This error usually happens in `load_state_dict` when trying to load "
            "an uninitialized parameter into an initialized one. "
            "Call `forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self):
        """Raises: there is nothing to share yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. "
            "Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __repr__(self):
        return f"<{self.__class__.__name__}>"

    def __reduce_ex__(self, protocol):
        return (self.__class__, (self.requires_grad,))

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in cls._allowed_methods or func.__class__.__name__ == "method-wrapper":
            return super().__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. "
            "This error happens when you are using a `LazyModule` or "
            f"explicitly manipulating `torch.nn.parameter.{cls.__name__}` "
            "objects. When using LazyModules Call `forward` with a dummy batch "
            "to initialize the parameters before calling torch functions"
        )


def is_lazy(param) -> bool:
    """Whether ``param`` is an uninitialised parameter or buffer."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is still unknown; ``materialize`` makes it a Parameter."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        data = torch.empty(0, device=device, dtype=dtype)
        return torch.Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            data = self.data
            memo[id(self)] = type(self)(self.requires_grad, data.device, data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):
    """A buffer whose shape is still unknown; ``materialize`` makes it a Tensor."""

    cls_to_become = torch.Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        data = torch.empty(0, device=device, dtype=dtype)
        tensor = torch.Tensor._make_subclass(cls, data, requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor
