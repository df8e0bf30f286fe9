"""autocast and its settings; on the CPU it computes in bfloat16 unless told otherwise."""

from __future__ import annotations

from functools import wraps

import rushlight as torch

from .. import _C

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_cache_enabled = True
_dtypes = {"cuda": torch.float16, "xpu": torch.bfloat16, "mps": torch.float16}
_KNOWN = ("cpu", "cuda", "mtia", "maia", "xpu", "ipu", "hpu", "xla", "mps", "meta")


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast has rules for this kind of device."""
    return device_type in _KNOWN and device_type != "meta"


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on for ``device_type`` (None: CUDA, where it never is)."""
    return device_type == "cpu" and _C._autocast_enabled()


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on."""
    return _C._autocast_enabled()


def set_autocast_enabled(device_type, enabled=None) -> None:
    """Switches autocast for a kind of device."""
    if device_type == "cpu":
        _C._set_autocast(enabled)


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switches autocast."""
    _C._set_autocast(enabled)


def get_autocast_dtype(device_type: str):
    """The lower dtype for a kind of device."""
    return _C._autocast_dtype() if device_type == "cpu" else _dtypes[device_type]


def get_autocast_cpu_dtype():
    """The lower dtype."""
    return _C._autocast_dtype()


def set_autocast_dtype(device_type: str, dtype) -> None:
    """Sets the lower dtype for a kind of device."""
    if device_type == "cpu":
        _C._set_autocast_dtype(dtype)
    else:
        _dtypes[device_type] = dtype


def set_autocast_cpu_dtype(dtype) -> None:
    """Sets the lower dtype."""
    _C._set_autocast_dtype(dtype)


def is_autocast_cache_enabled() -> bool:
    """What ``set_autocast_cache_enabled`` was told."""
    return _cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Remembered only: casts are not cached."""
    global _cache_enabled
    _cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Does nothing: casts are not cached."""


class autocast:
    """A block, or decorated function, in which chosen ops compute in a lower dtype.

    Args:
        device_type: "cpu"; for devices that are absent the block changes nothing.
        dtype: bfloat16 (default) or float16.
        enabled: False switches autocast off inside another block.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(
                f"Expected `device_type` of type `str`, got: `{type(device_type)}`"
            )
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = _cache_enabled if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._supported()

    def _supported(self) -> bool:
        import warnings

        if self.device != "cpu":
            if self.device == "cuda":
                warnings.warn(
                    "User provided device_type of 'cuda', but CUDA is not available. Disabling",
                    stacklevel=3,
                )
            return False
        if self.fast_dtype not in (torch.bfloat16, torch.float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtype of torch.bfloat16, torch.float16 currently.",
                stacklevel=3,
            )
            return False
        return True

    def __enter__(self):
        if self.device == "cpu":
            self._before = _C._autocast_enabled(), _C._autocast_dtype()
            _C._set_autocast(self._enabled)
            _C._set_autocast_dtype(self.fast_dtype)
        return self

    def __exit__(self, *error):
        if self.device == "cpu":
            _C._set_autocast(self._before[0])
            _C._set_autocast_dtype(self._before[1])
        return False

    def __call__(self, func):
        @wraps(func)
        def decorate_autocast(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        return decorate_autocast


def _cast(value, device_type: str, dtype):
    if isinstance(value, torch.Tensor):
        eligible = value.is_floating_point() and value.dtype is not torch.float64
        return value.to(dtype) if eligible and value.device.type == device_type else value
    if isinstance(value, dict):
        return {
            _cast(key, device_type, dtype): _cast(each, device_type, dtype)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(each, device_type, dtype) for each in value)
    return value


def custom_fwd(fwd=None, *, device_type: str, cast_inputs=None):
    """Decorates ``forward`` of a custom function: with ``cast_inputs``, autocast is off inside."""
    if fwd is None:
        return lambda fwd: custom_fwd(fwd, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def decorate_fwd(*args, **kwargs):
        args[0]._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(
                *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs)
            )

    return decorate_fwd


def custom_bwd(bwd=None, *, device_type: str):
    """Decorates ``backward`` of a custom function: autocast is as it was in ``forward``."""
    if bwd is None:
        return lambda bwd: custom_bwd(bwd, device_type=device_type)

    @wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
