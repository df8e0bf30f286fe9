"""Intel GPUs: there are none."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import nullcontext

from . import _absent
from ._streams import StreamContext  # noqa: F401

__all__ = ["device_count", "is_available"]

__path__: list = []  # its modules are known by name
_refused = _absent.names("xpu")


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def is_tf32_supported() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def device(device):
    """A block that changes nothing."""
    return nullcontext()


device_of = stream = device
default_generators: tuple = ()


def memory_stats(device=None) -> OrderedDict:
    """An empty dictionary."""
    return OrderedDict()


def memory_stats_as_nested_dict(device=None) -> dict:
    """An empty dictionary."""
    return {}


def get_arch_list() -> list:
    """An empty list."""
    return []


def get_gencode_flags() -> str:
    """An empty text."""
    return ""


def get_rng_state_all() -> list:
    """An empty list: one state per device."""
    return []


def _refuse(*args, **kwargs):
    raise AssertionError("Torch not compiled with XPU enabled")


_DEVICE_NEEDED = frozenset(
    "Event Stream current_device current_stream get_device_capability get_device_name "
    "get_device_properties get_per_process_memory_fraction get_rng_state init initial_seed "
    "mem_get_info set_per_process_memory_fraction set_rng_state set_stream synchronize "
    "utilization".split()
)
_NOTHING_DONE = frozenset(
    "empty_cache manual_seed manual_seed_all reset_accumulated_memory_stats "
    "reset_peak_memory_stats seed seed_all set_device set_rng_state_all".split()
)
_ZERO = frozenset(
    "max_memory_allocated max_memory_reserved memory_allocated memory_reserved".split()
)


def __getattr__(name: str):
    if name in _DEVICE_NEEDED:
        return _refuse
    if name in _NOTHING_DONE:
        return lambda *args, **kwargs: None
    if name in _ZERO:
        return lambda device=None: 0
    return _refused(name)
