"""The accelerator of this machine: there is none beside the CPU."""

from __future__ import annotations

__all__ = ["current_accelerator", "device_count", "is_available"]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False):
    """None."""
    return None


def _refuse(*args, **kwargs):
    raise RuntimeError(
        "Cannot access accelerator device when none is available."
    )


current_device_index = current_device_idx = set_device_index = set_device_idx = _refuse
current_stream = set_stream = synchronize = _refuse
