"""The accelerator of this machine: there is none beside the CPU."""

from __future__ import annotations

from . import _absent

__all__ = ["current_accelerator", "device_count", "is_available"]

__path__: list = []  # its modules are known by name
__getattr__ = _absent.names("accelerator")


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
    raise RuntimeError("Cannot access accelerator device when none is available.")


current_device_index = current_device_idx = set_device_index = set_device_idx = _refuse
current_stream = set_stream = synchronize = get_device_capability = _refuse
empty_cache = empty_host_cache = get_memory_info = memory_stats = _refuse
max_memory_allocated = max_memory_reserved = memory_allocated = memory_reserved = _refuse
reset_accumulated_memory_stats = reset_peak_memory_stats = _refuse


class device_index:
    """A block on the device of an index; None changes nothing, and so do all without devices."""

    def __init__(self, device):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            _refuse()

    def __exit__(self, *error):
        return None
