"""The functions that pickled tensors and parameters name; checkpoints hold them as torch._utils."""

from __future__ import annotations

import rushlight as torch


def _element_size(dtype) -> int:
    """Bytes of one element of ``dtype``."""
    return dtype.itemsize


def _check_bounds(storage, itemsize: int, offset: int, size, stride) -> None:
    # set_ would grow the storage; a checkpoint that needs that is damaged or hostile.
    if offset < 0 or any(extent < 0 for extent in size) or len(size) != len(stride):
        raise RuntimeError(
            f"setStorage: invalid sizes {list(size)}, strides {list(stride)} or "
            f"storage offset {offset}"
        )
    if any(step < 0 for step in stride):
        raise RuntimeError("as_strided: Negative strides are not supported at the moment, "
                           f"got strides: {list(stride)}")  # fmt: skip
    if 0 in size:
        return
    last = offset + sum((extent - 1) * step for extent, step in zip(size, stride))
    needed = (last + 1) * itemsize
    if needed > storage.nbytes():
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, "
            f"and itemsize {itemsize} requiring a storage size of {needed} are out of bounds "
            f"for storage of size {storage.nbytes()}"
        )


def _rebuild(storage, dtype, offset, size, stride):
    _check_bounds(storage, dtype.itemsize, offset, size, stride)
    tensor = torch.empty((0,), dtype=dtype, device=storage.device)
    return tensor.set_(storage, offset, size, stride)


def _finish(tensor, requires_grad, metadata):
    if requires_grad:
        tensor.requires_grad_()
    if metadata:
        if metadata.get("conj"):
            tensor = torch._conj(tensor)
        if metadata.get("neg"):
            tensor = torch._neg_view(tensor)
    return tensor


def _rebuild_tensor(storage, storage_offset, size, stride):
    """A tensor over ``storage``, a TypedStorage."""
    return _rebuild(storage._untyped_storage, storage.dtype, storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None
):
    """A tensor over ``storage``, a TypedStorage, with its flags; hooks are never stored."""
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return _finish(tensor, requires_grad, metadata)


def _rebuild_tensor_v3(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None
):
    """A tensor of ``dtype`` over a storage whose own dtype says nothing."""
    untyped = getattr(storage, "_untyped_storage", storage)
    return _finish(_rebuild(untyped, dtype, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    """A tensor on the meta device."""
    return torch.empty_strided(
        size, stride, dtype=dtype, device="meta", requires_grad=requires_grad
    )


def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    """A tensor that was copied to the CPU to be stored."""
    from ._locations import mapped_device

    tensor = data.to(dtype=dtype, device=mapped_device(device))
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    """A tensor that was stored as a numpy array."""
    return _rebuild_device_tensor_from_cpu_tensor(
        torch.from_numpy(data), dtype, device, requires_grad
    )


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """A Parameter around ``data``."""
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    """A Parameter around ``data`` that has attributes of its own."""
    return _set_obj_state(torch.nn.Parameter(data, requires_grad), state)


def _get_obj_state(obj):
    """What ``obj`` has besides its data: its __dict__, its slots, or None."""
    import copyreg

    state = getattr(obj, "__dict__", None) or None
    slots = copyreg._slotnames(type(obj))
    values = {name: getattr(obj, name) for name in slots if hasattr(obj, name)}
    return (state, values) if values else state


def _set_obj_state(obj, state):
    """Restores what ``_get_obj_state`` returned."""
    slots = None
    if isinstance(state, tuple):
        if len(state) != 2:
            raise RuntimeError(f"Invalid serialized state: {state}")
        state, slots = state
    for part in (state, slots):
        for name, value in (part or {}).items():
            setattr(obj, name, value)
    return obj


_TENSOR_TYPES = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16", "LongTensor": "int64", "IntTensor": "int32",
    "ShortTensor": "int16", "CharTensor": "int8", "ByteTensor": "uint8", "BoolTensor": "bool",
    "ComplexFloatTensor": "complex64", "ComplexDoubleTensor": "complex128",
}  # fmt: skip


def dtype_of_tensor_type(kind):
    """The dtype of a tensor type: its name, "torch.FloatTensor", a dtype or a legacy class."""
    if isinstance(kind, torch.dtype):
        return kind
    if isinstance(getattr(kind, "dtype", None), torch.dtype):
        return kind.dtype
    name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
    home, _, last = name.rpartition(".")
    if home == "torch" and last not in _TENSOR_TYPES:
        for dtype in torch.storage._new_dtypes():
            if last == tensor_type_of_dtype(dtype):
                return dtype
    if home not in ("torch", "torch.cuda") or last not in _TENSOR_TYPES:
        raise ValueError(f"invalid type: {name!r}")
    if home == "torch.cuda":
        raise TypeError(f"type {name} not available. Torch not compiled with CUDA enabled.")
    return getattr(torch, _TENSOR_TYPES[last])


def tensor_type_of_dtype(dtype) -> str:
    """The name of the tensor type, "FloatTensor" for float32."""
    name = str(dtype).removeprefix("torch.")
    newer = "ComplexHalf" if name == "complex32" else name.replace("uint", "UInt")
    newer = f"{newer[0].upper()}{newer[1:]}Tensor"  # no class of this name
    return next((kind for kind, of in _TENSOR_TYPES.items() if of == name), newer)


def torch_is_ours() -> bool:
    """Whether the module ``torch`` of this process is this package."""
    import sys

    return sys.modules.get("torch") is sys.modules[__package__]


_named_types: tuple = ()


def named_types() -> tuple:
    """The types whose objects are written by name or from their text, not their state."""
    global _named_types
    if not _named_types:
        _named_types = (
            torch.dtype, torch.layout, torch.memory_format, torch.Size, torch.device,
            torch.Generator,
        )  # fmt: skip
    return _named_types


def _named(name: str):
    """The dtype, layout or memory format of that name."""
    return getattr(torch, name)


def _size(items: tuple):
    return torch.Size(items)


def _device(text: str):
    return torch.device(text)


def _generator():
    return torch.Generator()


def _reduce_named(obj):
    # These types say they live in torch; where that is another package, or none, names would
    # not be found again.
    if torch_is_ours():
        return obj.__reduce__()
    if isinstance(obj, torch.Size):
        return _size, (tuple(obj),)
    if isinstance(obj, torch.device):
        return _device, (str(obj),)
    if isinstance(obj, torch.Generator):
        return _generator, (), obj.__reduce__()[2]
    return _named, (str(obj).rpartition(".")[2],)


def register_pickling() -> None:
    """Lets plain pickles carry dtypes, sizes and devices."""
    import copyreg

    for kind in named_types():
        copyreg.pickle(kind, _reduce_named)


REBUILD_FUNCTIONS = (
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_meta_tensor_no_storage,
    _rebuild_device_tensor_from_cpu_tensor,
    _rebuild_device_tensor_from_numpy,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
)


class KeyErrorMessage(str):
    """A text that KeyError shows as it is, line breaks included."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """An exception with its traceback as text, to be raised again in another process."""

    def __init__(self, exc_info=None, where: str = "in background"):
        import sys
        import traceback

        if exc_info is None:
            exc_info = sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raises an exception of the same type that tells where it came from."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            exception = self.exc_type(message)
        except Exception:  # its constructor wants other arguments
            raise RuntimeError(message) from None
        try:
            raise exception
        finally:
            del exception  # else this frame and the traceback keep each other alive


def _get_device_index(device, optional: bool = False, allow_cpu: bool = False):
    """The number in a device of a GPU, -1 for an allowed CPU; numbers are as they are.

    Raises ValueError where there is none: of no device, if ``optional``, it is None.
    """
    if isinstance(device, str):
        device = torch.device(device)
    index = device if isinstance(device, int) else None
    if isinstance(device, torch.device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        index = -1 if device.type == "cpu" else device.index
    if index is None and not optional:
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{device}"
        )
    return index
