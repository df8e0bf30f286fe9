"""How tensors and storages go to another process: their memory is shared, not copied."""

from __future__ import annotations

from multiprocessing.reduction import DupFd, ForkingPickler

import rushlight as torch
from rushlight import _shared_memory
from rushlight.utils.hooks import warn_if_has_hooks

__all__ = ["init_reductions", "reduce_storage", "reduce_tensor"]


def rebuild_storage(cls, file, nbytes: int):
    """The storage over a file that another process sent."""
    return _shared_memory.mapped(file.detach(), nbytes)


def rebuild_storage_empty(cls):
    """A storage of no bytes."""
    return cls(0)


def reduce_storage(storage):
    """Moves ``storage`` to shared memory and describes it by its file."""
    if storage.nbytes() == 0:
        return rebuild_storage_empty, (type(storage),)
    storage.share_memory_()
    file = DupFd(_shared_memory.file_of(storage))
    return rebuild_storage, (type(storage), file, storage.nbytes())


def rebuild_tensor(cls, storage, dtype, metadata):
    """A tensor over ``storage``; a Parameter where one was sent."""
    offset, size, stride, requires_grad, conj, neg = metadata
    tensor = torch.storage.as_tensor(storage, dtype).as_strided(size, stride, offset)
    if conj:
        tensor = tensor.conj()
    if neg:
        tensor = torch._neg_view(tensor)
    if issubclass(cls, torch.nn.Parameter):
        return torch.nn.Parameter(tensor, requires_grad=requires_grad)
    tensor.requires_grad = requires_grad
    return tensor


def rebuild_meta_tensor(cls, dtype, size, stride, requires_grad):
    """A tensor without data."""
    made = torch.empty_strided(size, stride, dtype=dtype, device="meta")
    if issubclass(cls, torch.nn.Parameter):
        return torch.nn.Parameter(made, requires_grad=requires_grad)
    return made.requires_grad_(requires_grad)


def reduce_tensor(tensor):
    """Describes ``tensor`` as a view of its storage."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, "
            "since autograd does not support crossing process boundaries.  "
            "If you just want to transfer the data, call detach() on the tensor "
            "before serializing (e.g., putting it on the queue)."
        )
    warn_if_has_hooks(tensor)
    kind, size, stride = type(tensor), tuple(tensor.size()), tuple(tensor.stride())
    if tensor.device.type == "meta":
        return rebuild_meta_tensor, (kind, tensor.dtype, size, stride, tensor.requires_grad)
    metadata = (
        tensor.storage_offset(), size, stride, tensor.requires_grad, tensor.is_conj(),
        tensor.is_neg(),
    )  # fmt: skip
    return rebuild_tensor, (kind, tensor.untyped_storage(), tensor.dtype, metadata)


def init_reductions() -> None:
    """Teaches the standard library's pickler for processes."""
    ForkingPickler.register(torch.Tensor, reduce_tensor)
    ForkingPickler.register(torch.nn.Parameter, reduce_tensor)
    ForkingPickler.register(torch.UntypedStorage, reduce_storage)
