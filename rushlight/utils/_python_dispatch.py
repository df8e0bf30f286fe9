"""__torch_dispatch__: refused; __torch_function__ and its modes serve instead."""

from __future__ import annotations

from rushlight import _absent

_REASON = (
    "rushlight has no __torch_dispatch__. Override __torch_function__, or use "
    "torch.overrides.TorchFunctionMode."
)


def is_traceable_wrapper_subclass(t) -> bool:
    """False: there are no such classes."""
    return False


def is_traceable_wrapper_subclass_type(t) -> bool:
    """False: there are no such classes."""
    return False


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """False: there are no such modes."""
    return False


def _get_current_dispatch_mode():
    """None: there are no such modes."""
    return None


def _get_current_dispatch_mode_stack() -> list:
    """An empty list."""
    return []


__getattr__ = _absent.names(
    "utils._python_dispatch", _REASON, "BaseTorchDispatchMode TorchDispatchMode "
    "_disable_current_modes _pop_mode_temporarily return_and_correct_aliasing transform_subclass",
)  # fmt: skip
