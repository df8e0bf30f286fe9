"""FloatTensor and its like: classes that make tensors of one dtype and recognise them."""

from __future__ import annotations

import rushlight as torch

from ._utils import _TENSOR_TYPES

_made: dict = {}


class _LegacyMeta(type):
    def __instancecheck__(cls, instance) -> bool:
        return isinstance(instance, torch.Tensor) and instance.dtype is cls.dtype

    def __call__(cls, *args, **kwargs):
        device = kwargs.pop("device", None)
        if len(args) == 1 and isinstance(args[0], torch.Tensor):
            if args[0].dtype is not cls.dtype:
                raise TypeError(
                    f"expected {cls.__module__}.{cls.__name__} (got {args[0].type()})"
                )
            return args[0].alias() if hasattr(args[0], "alias") else args[0].detach()
        if not args:
            return torch.empty(0, dtype=cls.dtype, device=device)
        if len(args) == 1 and not isinstance(args[0], (int, torch.Size)):
            return torch.tensor(args[0], dtype=cls.dtype, device=device)
        sizes = args[0] if isinstance(args[0], torch.Size) else args
        return torch.empty(sizes, dtype=cls.dtype, device=device)


def legacy_type(name: str):
    """The class of that name, or None."""
    if name not in _TENSOR_TYPES:
        return None
    if name not in _made:
        dtype = getattr(torch, _TENSOR_TYPES[name])
        body = {"dtype": dtype, "__module__": "torch", "is_cuda": False, "is_sparse": False}
        _made[name] = _LegacyMeta(name, (), body)
    return _made[name]
