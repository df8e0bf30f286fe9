"""asarray: a tensor out of whatever holds numbers, over the same memory where that is possible."""

import rushlight as torch

__all__ = ["asarray"]


def _kind(dtype):
    """What PyTorch's messages call a dtype: Float for float32."""
    return torch.empty(0, dtype=dtype).type().removeprefix("torch.").removesuffix("Tensor")


def _is_numpy(obj, name):
    return any(t.__module__ == "numpy" and t.__name__ == name for t in type(obj).__mro__)


def _has_buffer(obj):
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def _over_memory_of(obj, dtype, copy):
    """A tensor that shares the memory of ``obj``, or None if it has none to share."""
    if isinstance(obj, torch.Tensor):
        return obj
    if _is_numpy(obj, "ndarray"):
        return torch.from_numpy(obj)
    if _is_numpy(obj, "generic"):
        if copy is False:
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
            )
        import numpy

        return torch.from_numpy(numpy.array(obj))
    if isinstance(obj, torch.UntypedStorage):
        from .storage import as_tensor

        return as_tensor(obj, dtype or torch.int64)
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        return torch.from_dlpack(obj)
    if _has_buffer(obj):
        return torch.frombuffer(obj, dtype=dtype or torch.get_default_dtype())
    return None


def _converted(tensor, dtype, device, copy):
    other_device = device is not None and torch.device(device).type != tensor.device.type
    other_dtype = dtype is not None and dtype != tensor.dtype
    if copy is False:
        if other_device:
            raise ValueError(f"can't alias tensor from device '{tensor.device}' to '{device}'.")
        if other_dtype:
            raise ValueError(
                f"can't alias tensor with dtype '{_kind(tensor.dtype)}' into dtype "
                f"'{_kind(dtype)}'."
            )
    if other_device or other_dtype:
        return tensor.to(device=device or tensor.device, dtype=dtype or tensor.dtype)
    return tensor.clone() if copy else tensor


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """Return ``obj`` as a tensor.

    Tensors, numpy arrays, DLPack objects and objects with the buffer protocol share their memory
    unless ``dtype``, ``device`` or ``copy=True`` ask for a copy; ``copy=False`` raises ValueError
    where one is needed. A bare buffer is read as the default dtype. Numbers and nested sequences
    are copied. ``requires_grad=None`` keeps what ``obj`` has.
    """
    tensor = _over_memory_of(obj, dtype, copy)
    if tensor is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        result = torch.tensor(obj, dtype=dtype, device=device)
    else:
        result = _converted(tensor, dtype, device, copy)
    if requires_grad is None or requires_grad == result.requires_grad:
        return result
    if requires_grad and not (result.is_floating_point() or result.is_complex()):
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients"
        )
    if requires_grad or result.is_leaf:
        return result.requires_grad_(requires_grad)
    return result.detach()
