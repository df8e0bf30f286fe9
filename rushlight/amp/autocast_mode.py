"""autocast and its settings; on the CPU it computes in bfloat16 unless told otherwise."""

from __future__ import annotations

import warnings
from functools import wraps

import rushlight as torch

from .. import _C

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

# Devices that autocast knows, with their lower dtypes; the CPU's are the core's.
_dtypes = dict.fromkeys(("maia", "hpu", "xla"), torch.bfloat16) | dict.fromkeys(
    ("cuda", "mtia", "xpu", "ipu", "mps", "privateuseone"), torch.float16
)
_states = dict.fromkeys(_dtypes, False)
_SUPPORTED = (torch.bfloat16, torch.float16)


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast has rules for this kind of device."""
    if device_type == "cpu" or device_type in _dtypes:
        return True
    torch.device(device_type)  # raises for what is no device at all
    return False


def _known(device_type: str, message: str) -> str:
    if not isinstance(device_type, str):
        import sys

        raise TypeError(
            f"{sys._getframe(1).f_code.co_name}(): argument 'device_type' (position 1) must be "
            f"str, not {type(device_type).__name__}"
        )
    if not is_autocast_available(device_type):
        raise RuntimeError(message)
    return device_type


_UNKNOWN = "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for ``device_type``."""
    if _known(device_type, _UNKNOWN) == "cpu":
        return _C._autocast_enabled()
    return _states[device_type]


def set_autocast_enabled(*args, **kwargs) -> None:
    """``set_autocast_enabled([device_type="cuda",] enabled)``: switches autocast."""
    device_type, enabled = _device_and_value(*args, **kwargs)
    if _known(device_type, _UNKNOWN) == "cpu":
        _C._set_autocast(enabled)
    else:
        _states[device_type] = bool(enabled)


def _device_and_value(*args, device_type="cuda", enabled=None):
    if len(args) == 2:
        return args
    if len(args) == 1 and enabled is None:
        return device_type, args[0]
    return (args[0] if args else device_type), enabled


def get_autocast_dtype(device_type: str):
    """The lower dtype for a kind of device."""
    if _known(device_type, "unsupported scalarType") == "cpu":
        return _C._autocast_dtype()
    return _dtypes[device_type]


def set_autocast_dtype(device_type: str, dtype) -> None:
    """Sets the lower dtype for a kind of device."""
    if _known(device_type, "unsupported scalarType") == "cpu":
        _C._set_autocast_dtype(dtype)
    else:
        _dtypes[device_type] = dtype


is_autocast_cache_enabled = _C.is_autocast_cache_enabled
set_autocast_cache_enabled = _C.set_autocast_cache_enabled
clear_autocast_cache = _C.clear_autocast_cache
autocast_increment_nesting = _C.autocast_increment_nesting
autocast_decrement_nesting = _C.autocast_decrement_nesting


def _older(name: str, arguments: str, newer: str, call):
    """A function of one kind of device, deprecated in favour of ``newer``."""

    def function(*args):
        warnings.warn(
            f"torch.{name}({arguments}) is deprecated. Please use torch.{newer} instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        return call(*args)

    function.__name__ = function.__qualname__ = name
    return function


def _older_functions(kind: str, device: str):
    def reader(get):
        return lambda: get(device)

    def writer(put):
        return lambda value: put(device, value)

    table = (
        (f"is_autocast_{kind}_enabled", "", f"is_autocast_enabled('{device}')",
         reader(is_autocast_enabled)),
        (f"set_autocast_{kind}_enabled", "enabled", f"set_autocast_enabled('{device}', enabled)",
         writer(set_autocast_enabled)),
        (f"get_autocast_{kind}_dtype", "", f"get_autocast_dtype('{device}')",
         reader(get_autocast_dtype)),
        (f"set_autocast_{kind}_dtype", "dtype", f"set_autocast_dtype('{device}', dtype)",
         writer(set_autocast_dtype)),
    )  # fmt: skip
    return {name: _older(name, *rest) for name, *rest in table if "gpu_enabled" not in name}


for _kind, _device in (("cpu", "cpu"), ("gpu", "cuda"), ("ipu", "ipu"), ("xla", "xla")):
    globals().update(_older_functions(_kind, _device))


def autocast_decorator(autocast_instance, func):
    """``func`` inside the block ``autocast_instance``."""

    @wraps(func)
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


class autocast:
    """A block, or decorated function, in which chosen ops compute in a lower dtype.

    Args:
        device_type: "cpu"; for devices that are absent the block changes nothing.
        dtype: bfloat16 (default on the CPU) or float16.
        enabled: False switches autocast off inside another block.
        cache_enabled: cast each parameter once while the outermost block is open.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(
                f"Expected `device_type` of type `str`, got: `{type(device_type)}`"
            )
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        if cache_enabled is None:
            cache_enabled = is_autocast_cache_enabled()
        self._cache_enabled = cache_enabled
        self._enabled = self._supported() if enabled else enabled

    def _supported(self) -> bool:
        level = 3 if type(self) is autocast else 4
        if self.device == "cuda":
            warnings.warn(
                "CUDA is not available or torch_xla is imported. Disabling autocast.",
                stacklevel=level,
            )
            return False
        if self.fast_dtype not in _SUPPORTED:
            name = self.device.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of "
                f"{', '.join(map(str, _SUPPORTED))} currently.",
                stacklevel=level,
            )
            return False
        return True

    def __enter__(self):
        self.prev_cache_enabled = is_autocast_cache_enabled()
        self.prev = is_autocast_enabled(self.device)
        self.prev_fastdtype = get_autocast_dtype(self.device)
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        autocast_increment_nesting()
        set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, *error):
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        set_autocast_enabled(self.device, self.prev)
        set_autocast_dtype(self.device, self.prev_fastdtype)
        set_autocast_cache_enabled(self.prev_cache_enabled)
        return False

    def __call__(self, func):
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


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


def _check_device_type(device_type) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd=None, *, device_type: str, cast_inputs=None):
    """Decorates ``forward`` of a custom function: with ``cast_inputs``, autocast is off inside."""
    _check_device_type(device_type)
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
    _check_device_type(device_type)
    if bwd is None:
        return lambda bwd: custom_bwd(bwd, device_type=device_type)

    @wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        on = args[0]._fwd_used_autocast
        with autocast(device_type, enabled=on, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
