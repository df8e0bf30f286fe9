"""The mode behind ``set_default_device`` and ``with torch.device(...)``."""

from __future__ import annotations

import rushlight as torch
from rushlight.overrides import TorchFunctionMode

_NAMES = (
    "empty empty_permuted empty_strided empty_quantized ones arange bartlett_window "
    "blackman_window eye full hamming_window hann_window kaiser_window linspace logspace rand "
    "randint randn randperm range tril_indices triu_indices vander zeros asarray tensor as_tensor "
    "scalar_tensor"
)
_constructors: set = set()


def _device_constructors() -> set:
    if not _constructors:
        _constructors.update(
            getattr(torch, name) for name in _NAMES.split() if hasattr(torch, name)
        )
    return _constructors


class DeviceContext(TorchFunctionMode):
    """Factory functions make tensors on ``device`` where none is given."""

    def __init__(self, device):
        self.device = torch.device(device)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)


def set_device(device):
    """A decorator that makes ``device`` the default one."""

    def decorate(func):
        from functools import wraps

        @wraps(func)
        def wrapped(*args, **kwargs):
            with DeviceContext(device):
                return func(*args, **kwargs)

        return wrapped

    return decorate
