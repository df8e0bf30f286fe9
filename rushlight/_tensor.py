"""Tensor methods written in Python: printing, copying, pickling and a few wrappers."""

from __future__ import annotations

import rushlight as torch

from . import _layout_methods, _tensor_str, _utils, overrides, storage
from .overrides import _convert  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._C import Tensor as Tensor


def _rebuild_from_type_v2(func, new_type, args, state):
    """Rebuilds a tensor of a subclass, or one that has attributes."""
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = tensor.as_subclass(new_type)
    if getattr(type(tensor), "__setstate__", __setstate__) is not torch.Tensor.__setstate__:
        tensor.__setstate__(state)
        return tensor
    return _utils._set_obj_state(tensor, state)


def __repr__(self, *, tensor_contents=None):
    return _tensor_str._str(self, tensor_contents=tensor_contents)


def __format__(self, format_spec):
    if self.dim() == 0 and not self.is_meta and type(self) is torch.Tensor:
        return self.detach().item().__format__(format_spec)
    if format_spec:
        kind = type(self).__name__
        raise TypeError(f"unsupported format string passed to {kind}.__format__")
    return str(self)


def __complex__(self):
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return complex(self.item())


def _copy_of_data(self, memo):
    """A tensor of this type with a copy of its storage; one copy per storage and ``memo``."""
    kind = type(self)
    if self.is_meta or (kind is not torch.Tensor and self.data_ptr() == 0):
        return self.clone()
    copied = self.new_empty([])
    if type(copied) is not kind:
        raise RuntimeError(
            "The default implementation of __deepcopy__() for non-wrapper subclasses "
            "only works for subclass types that implement new_empty() and for which "
            "that function returns another instance of the same subclass. You should "
            "either properly implement new_empty() for your subclass or override "
            "__deepcopy__() if it is intended behavior for new_empty() to return "
            "an instance of a different type."
        )
    untyped = self.untyped_storage().__deepcopy__(memo)
    copied.set_(untyped, self.storage_offset(), self.size(), self.stride())
    if self.is_conj():
        copied = copied.conj_physical()
    if self.is_neg():
        copied = copied.neg()
    return copied


def __deepcopy__(self, memo):
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user "
            "(graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because "
            "of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    from copy import deepcopy

    with torch.no_grad():
        copied = _copy_of_data(self, memo)
        if self.requires_grad:
            copied.requires_grad_()
        if self.grad is not None:
            copied.grad = self.grad.__deepcopy__(memo)
        _utils._set_obj_state(copied, deepcopy(_utils._get_obj_state(self), memo))
        memo[id(self)] = copied
        return copied


def _typed_storage(self):
    return storage.TypedStorage(
        wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True
    )


def _warn_if_has_hooks(tensor) -> None:
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            import warnings

            warnings.warn(
                f"backward hook {hook!r} on tensor will not be "
                "serialized.  If this is expected, you can "
                "decorate the function with @torch.utils.hooks.unserializable_hook "
                "to suppress this warning",
                stacklevel=4,
            )


def _reduce_ex_internal(self, protocol):
    _warn_if_has_hooks(self)
    if self.is_meta:
        sizes = (self.dtype, tuple(self.size()), self.stride(), self.requires_grad)
        return (_utils._rebuild_meta_tensor_no_storage, sizes)
    from collections import OrderedDict

    untyped = self.dtype in storage._new_dtypes()  # no storage class stands for these
    args = (
        self.untyped_storage() if untyped else _typed_storage(self),
        self.storage_offset(),
        tuple(self.size()),
        self.stride(),
        self.requires_grad,
        OrderedDict(),  # hooks are not stored
    )
    if untyped:
        return (_utils._rebuild_tensor_v3, (*args, self.dtype))
    bits = {name: True for name in ("conj", "neg") if getattr(self, "is_" + name)()}
    return (_utils._rebuild_tensor_v2, (*args, bits) if bits else args)


def __reduce_ex__(self, protocol):
    state = _utils._get_obj_state(self)
    func, args = self._reduce_ex_internal(protocol)
    if type(self) is torch.Tensor and not state:
        return func, args
    return (_rebuild_from_type_v2, (func, type(self), args, state))


def __setstate__(self, state):
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) == 4:  # written before tensors had flags
        untyped = getattr(state[0], "_untyped_storage", state[0])
        self.set_(untyped, *state[1:])
        return
    if len(state) == 5:
        self.data = state[0]
        state = (state[3], state[4], state[2])
    self.requires_grad = state[0]


def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradient of this tensor to ``.grad`` of the graph's leaves.

    Args:
        gradient: the gradient with respect to this tensor; may be left out for a scalar.
        retain_graph: keep what the graph saved for another backward (default: create_graph).
        create_graph: record the computation of the gradients, for higher derivatives.
        inputs: accumulate into these tensors only.
    """
    if overrides.has_torch_function_unary(self) and not overrides.only_heard(self):
        return overrides.handle_torch_function(
            backward,
            (self,),
            self,
            gradient=gradient,
            retain_graph=retain_graph,
            create_graph=create_graph,
            inputs=inputs,
        )
    torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def storage_(self):
    """The typed storage of this tensor (deprecated: use ``untyped_storage()``)."""
    storage._warn_typed_storage_removal()
    return _typed_storage(self)


def storage_type(self):
    """The legacy class of this tensor's storage."""
    storage._warn_typed_storage_removal()
    return _typed_storage(self)._get_legacy_storage_class()


def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    """See :func:`torch.norm`."""
    return torch.norm(self, p, dim, keepdim, dtype=dtype)


def lu(self, pivot=True, get_infos=False):
    """See :func:`torch.lu`."""
    return torch.lu(self, pivot, get_infos)


_split = torch._C._ops_table["split"]


def split(self, split_size, dim=0):
    """See :func:`torch.split`."""
    if isinstance(split_size, (list, tuple)):
        return torch._C._VariableFunctions.split_with_sizes(self, split_size, dim)
    return _split(self, split_size, dim)


def nonzero(self, *, as_tuple=False):
    """See :func:`torch.nonzero`."""
    return torch.nonzero(self, as_tuple=as_tuple)


def is_nonzero(self):
    """See :func:`torch.is_nonzero`."""
    return bool(self)


def is_same_size(self, other):
    """See :func:`torch.is_same_size`."""
    if not isinstance(other, torch._C.TensorBase):
        kind = type(other).__name__
        raise TypeError(
            f"is_same_size(): argument 'other' (position 1) must be Tensor, not {kind}"
        )
    return self.shape == other.shape


def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """See :func:`torch.unique`."""
    return torch.unique(
        self, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, dim=dim
    )


def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    """See :func:`torch.unique_consecutive`."""
    return torch.unique_consecutive(
        self, return_inverse=return_inverse, return_counts=return_counts, dim=dim
    )


def stft(
    self, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect",
    normalized=False, onesided=None, return_complex=None, align_to_window=None,
):  # fmt: skip
    """See :func:`torch.stft`."""
    return torch.stft(
        self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
        return_complex=return_complex, align_to_window=align_to_window,
    )  # fmt: skip


def istft(
    self, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False,
    onesided=None, length=None, return_complex=False,
):  # fmt: skip
    """See :func:`torch.istft`."""
    return torch.istft(
        self, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
        return_complex=return_complex,
    )  # fmt: skip


def module_load(self, other, assign=False):
    """What ``load_state_dict`` puts in this tensor's place when it swaps tensors."""
    return other.detach() if assign else self.copy_(other).detach()


def type_(self, dtype=None, non_blocking=False, **kwargs):
    """The name of this tensor's type, "torch.FloatTensor", or this tensor as ``dtype``."""
    if dtype is None:
        home = "torch.meta" if self.is_meta else "torch"
        return f"{home}.{_utils.tensor_type_of_dtype(self.dtype)}"
    if isinstance(dtype, torch.dtype):
        return self.to(dtype, non_blocking=non_blocking)
    kind = _utils.dtype_of_tensor_type(dtype)
    return self.to(device="cpu", dtype=kind, non_blocking=non_blocking)


def type_as(self, other):
    """This tensor with the dtype and device of ``other``."""
    if not isinstance(other, torch._C.TensorBase):
        kind = type(other).__name__
        raise TypeError(f"type_as(): argument 'other' (position 1) must be Tensor, not {kind}")
    return self.to(dtype=other.dtype, device=other.device)


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with the values of ``data``, copied; dtype and device are this tensor's."""
    return torch.tensor(
        data,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )


def new(self, *args, **kwargs):
    """A tensor of this dtype: of given sizes, or with given values."""
    from ._legacy_types import legacy_type

    return legacy_type(_utils.tensor_type_of_dtype(self.dtype))(*args, **kwargs)


def is_distributed(self):
    """False."""
    return False


def dim_order(self, *, ambiguity_check=False):
    """The dimensions from the outermost in memory to the innermost."""
    return tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))


def pin_memory(self, device=None):
    """Raises: only accelerators need memory that does not move."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


def apply_(self, callable):
    """Replaces each element by ``callable`` of it, a Python number."""
    values = [callable(value) for value in self.detach().reshape(-1).tolist()]
    return self.copy_(torch.tensor(values, dtype=self.dtype).reshape(self.shape))


def map_(self, tensor, callable):
    """Replaces each element a by ``callable(a, b)``, b from ``tensor``."""
    pairs = zip(self.detach().reshape(-1).tolist(), tensor.expand_as(self).reshape(-1).tolist())
    values = [callable(a, b) for a, b in pairs]
    return self.copy_(torch.tensor(values, dtype=self.dtype).reshape(self.shape))


def map2_(self, x, y, callable):
    """Replaces each element a by ``callable(a, b, c)``, b and c from ``x`` and ``y``."""
    given = (self.detach(), x.expand_as(self), y.expand_as(self))
    values = map(callable, *(t.reshape(-1).tolist() for t in given))
    return self.copy_(torch.tensor(list(values), dtype=self.dtype).reshape(self.shape))


def sum_to_size(self, *size):
    """The sum over the dimensions that broadcasting ``size`` to this tensor's would repeat."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    for n in size:
        if not isinstance(n, int):
            raise TypeError(
                "sum_to_size(): argument 'size' (position 1) must be tuple of ints, "
                f"not {type(n).__name__}"
            )
    shape, lead = self.shape, self.dim() - len(size)
    fits = lead >= 0 and all(n in (m, 1) for n, m in zip(size, shape[lead:], strict=True))
    if not fits:
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    if not size:
        return self.sum()
    dims = [d for d in range(len(shape)) if d < lead or (size[d - lead] == 1 != shape[d])]
    total = self.sum(dims, keepdim=True) if dims else self
    return total.view(size) if lead else total


def resize_as_(self, the_template, *, memory_format=None):
    """Gives this tensor the sizes of another; new elements are not set."""
    if memory_format is None or memory_format is torch.contiguous_format:
        return self.resize_(the_template.shape)
    self.resize_(the_template.shape)
    return self.as_strided_(self.shape, torch.empty_like(the_template, device="meta").stride())


def is_set_to(self, tensor):
    """Whether both are the same elements of the same storage."""
    same = self.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    return same and self.storage_offset() == tensor.storage_offset() and (
        (self.shape, self.stride()) == (tensor.shape, tensor.stride())
    )  # fmt: skip


def to_dense(self, dtype=None, *, masked_grad=None):
    """This tensor, which is dense."""
    return self if dtype is None else self.to(dtype)


def dense_dim(self):
    """The number of dimensions."""
    return self.dim()


def sparse_dim(self):
    """0: no dimension is sparse."""
    return 0


def is_coalesced(self):
    """Raises: only a sparse tensor has repeated coordinates."""
    raise RuntimeError(
        "is_coalesced expected sparse coordinate tensor layout but got Strided"
    )


def __reversed__(self):
    """This tensor reversed along dimension 0."""
    return self if self.dim() == 0 else self.flip(0)


def __contains__(self, element):
    """Whether ``element``, a number or a tensor, equals any element of this tensor."""
    from numbers import Number

    if isinstance(element, (torch.Tensor, Number)):
        return bool((element == self).any().item())
    raise RuntimeError(
        "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
        f"{type(element)}."
    )


def __iter__(self):
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def __dir__(self):
    names = {*dir(type(self)), *getattr(self, "__dict__", ())}
    return sorted(names - {"__cuda_array_interface__"})


def is_shared(self):
    """Whether other processes share this tensor's memory."""
    return self.untyped_storage().is_shared()


def share_memory_(self):
    """Moves this tensor's storage to memory that processes forked from now on share."""
    self.untyped_storage().share_memory_()
    return self


def _handle(registered):
    from .utils.hooks import handle_in_core

    return handle_in_core(registered, torch.Tensor._remove_hook)


def register_hook(self, hook):
    """Calls ``hook(grad)`` whenever the gradient of this tensor is computed.

    A result of ``hook`` other than None takes the gradient's place. Returns a handle whose
    ``remove()`` removes the hook.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return _handle(self._register_hook(hook))


def register_post_accumulate_grad_hook(self, hook):
    """Calls ``hook(self)`` after a gradient was added to ``.grad`` of this leaf."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return _handle(self._register_post_accumulate_grad_hook(hook))


_OVER_THE_CORES = (
    __repr__, __format__, __complex__, __deepcopy__, __reduce_ex__, _reduce_ex_internal,
    __setstate__,
    __dir__, _typed_storage, is_shared, share_memory_, nonzero,
)  # fmt: skip
_METHODS = (
    backward, storage_type, norm, lu, split, is_nonzero, is_same_size, unique,
    unique_consecutive, stft, istft, module_load, __reversed__, __contains__, __iter__,
    register_hook, register_post_accumulate_grad_hook, type_as, new_tensor, new,
    is_distributed, dim_order, pin_memory, apply_, map_, map2_, sum_to_size, resize_as_,
    is_set_to, to_dense, dense_dim, sparse_dim, is_coalesced,
)  # fmt: skip


# PyTorch does not ask for the first four; the last one asks by itself.
_NOT_ASKED = {"__setstate__", "__iter__", "_reduce_ex_internal", "is_distributed", "backward"}


def _asked(method):
    """The method behind a question to ``__torch_function__``, if the class or a mode has one."""
    return method if method.__name__ in _NOT_ASKED else torch._C._asked_method(method)


def attach(tensor_type: type) -> None:
    """Gives ``tensor_type``, the core's Tensor, the methods of this file."""
    for method in _layout_methods.METHODS:
        if not hasattr(tensor_type, method.__name__):
            setattr(tensor_type, method.__name__, _asked(method))
    for method in (*_OVER_THE_CORES, *_METHODS):
        setattr(tensor_type, method.__name__, _asked(method))
    tensor_type.storage = _asked(storage_)
    tensor_type.type = _asked(type_)
    tensor_type.__torch_function__ = classmethod(overrides.default_torch_function)
    tensor_type.__array_priority__ = 1000  # numpy leaves mixed operators to us
    _utils.register_pickling()


def __getattr__(name: str):
    if name == "Tensor":
        return torch.Tensor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
