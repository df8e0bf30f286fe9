"""Meta's accelerators: there are none."""

from __future__ import annotations

from contextlib import nullcontext

from . import _absent
from ._streams import StreamContext  # noqa: F401

__all__ = ["device_count", "is_available", "is_initialized"]

__path__: list = []  # its modules are known by name
_refused = _absent.names("mtia")


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def device(device):
    """A block that changes nothing."""
    return nullcontext()


def memory_stats(device=None) -> dict:
    """An empty dictionary."""
    return {}


def get_rng_state_all() -> list:
    """An empty list: one state per device."""
    return []


stream = device
default_generators: tuple = ()


def _refuse(*args, **kwargs):
    raise RuntimeError("rushlight has no MTIA devices: ask torch.mtia.is_available() first")


_DEVICE_NEEDED = frozenset(
    "Event Stream current_device current_stream default_stream get_device_capability "
    "get_device_properties get_rng_state init set_rng_state set_stream synchronize".split()
)
_NOTHING_DONE = frozenset(
    "empty_cache manual_seed manual_seed_all record_memory_history reset_peak_memory_stats seed "
    "seed_all set_device".split()
)
_ZERO = frozenset("max_memory_allocated memory_allocated".split())


def __getattr__(name: str):
    if name in _DEVICE_NEEDED:
        return _refuse
    if name in _NOTHING_DONE:
        return lambda *args, **kwargs: None
    if name in _ZERO:
        return lambda device=None: 0
    return _refused(name)
