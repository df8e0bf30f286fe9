"""Variable, the former name of tensors that need gradients."""

from __future__ import annotations

import rushlight as torch

__all__ = ["Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, instance) -> bool:
        return isinstance(instance, torch.Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(tensor, requires_grad)`` returns a tensor over the same memory."""

    def __new__(cls, data=None, requires_grad=False, volatile=None):
        tensor = torch.empty(0) if data is None else data.detach()
        return tensor.requires_grad_(requires_grad)

    @staticmethod
    def _queue_callback(callback):
        torch._C._queue_callback(callback)


Variable._execution_engine = type(
    "ImperativeEngine", (), {"queue_callback": staticmethod(torch._C._queue_callback)}
)()
