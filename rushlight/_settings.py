"""Settings of the process: default device, deterministic algorithms, precision, warnings."""

from __future__ import annotations

from . import _C

_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}
_default_device = None
_device_mode = None
_deterministic = [False, False]  # on, warn only
_matmul_precision = "highest"
_warn_always = False


def get_default_device():
    """The device that factory functions use where none is given."""
    return _C.device("cpu") if _default_device is None else _default_device


def set_default_device(device) -> None:
    """Sets the device that factory functions use where none is given (None: the CPU)."""
    global _default_device, _device_mode
    if _device_mode is not None:
        _device_mode.__exit__(None, None, None)
        _device_mode = None
    _default_device = None
    if device is None:
        return
    device = _C.device(device)
    if device.type != "cpu":
        from .utils._device import DeviceContext

        _device_mode = DeviceContext(device)
        _device_mode.__enter__()
    _default_device = device


_entered: list = []


def enter_device(self):
    """``with torch.device(...)``: factory functions use it where no device is given."""
    from .utils._device import DeviceContext

    context = DeviceContext(self)
    context.__enter__()
    _entered.append(context)
    return self


def leave_device(self, *error) -> None:
    """The end of ``with torch.device(...)``."""
    _entered.pop().__exit__(*error)


_C.device.__enter__, _C.device.__exit__ = enter_device, leave_device


def set_default_tensor_type(t) -> None:
    """Sets the default dtype by a tensor type's name, "torch.DoubleTensor", or class."""
    from ._utils import dtype_of_tensor_type

    _C.set_default_dtype(dtype_of_tensor_type(t))


def use_deterministic_algorithms(mode, *, warn_only=False) -> None:
    """Asks for deterministic algorithms. All of ours are; the setting is only remembered."""
    _deterministic[:] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether ``use_deterministic_algorithms`` is on."""
    return _deterministic[0]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether ``use_deterministic_algorithms`` is set to warn only."""
    return _deterministic[1]


def set_deterministic_debug_mode(debug_mode) -> None:
    """Sets the mode: "default" or 0, "warn" or 1, "error" or 2."""
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, "
                f"but got {debug_mode}"
            )
        debug_mode = _DEBUG_MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """The mode as a number."""
    return (1 if _deterministic[1] else 2) if _deterministic[0] else 0


def get_float32_matmul_precision() -> str:
    """The precision asked for: "highest", "high" or "medium"."""
    return _matmul_precision


def set_float32_matmul_precision(precision: str) -> None:
    """Remembers the precision asked for; products are always of full precision."""
    global _matmul_precision
    if precision not in ("highest", "high", "medium"):
        import warnings

        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect.",
            stacklevel=2,
        )
        return
    _matmul_precision = precision
    from .backends import cuda, mkldnn

    cuda.matmul.fp32_precision = "ieee" if precision == "highest" else "tf32"
    mkldnn.matmul.fp32_precision = {"highest": "ieee", "high": "tf32", "medium": "bf16"}[precision]


def set_warn_always(b, /) -> None:
    """Remembers whether warnings that usually come once shall always come."""
    global _warn_always
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always: expected bool, got {type(b).__name__}")
    _warn_always = b


def is_warn_always_enabled() -> bool:
    """What ``set_warn_always`` was told."""
    return _warn_always


def set_flush_denormal(mode) -> bool:
    """Whether denormal numbers could be set to be flushed: they cannot."""
    return not mode


def get_num_interop_threads() -> int:
    """Threads that run ops of one program side by side: one."""
    return 1


def set_num_interop_threads(n) -> None:
    """Accepted for programs that set it; ops of one program run one after another."""
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
