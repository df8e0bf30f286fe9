"""CUDA devices: there are none, and what needs one says so as PyTorch's CPU build does."""

from __future__ import annotations

from contextlib import nullcontext

__all__ = ["current_device", "device_count", "empty_cache", "is_available", "synchronize"]

has_half = True
has_magma = False
default_generators: tuple = ()


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


def _refuse(*args, **kwargs):
    raise AssertionError("Torch not compiled with CUDA enabled")


_DEVICE_NEEDED = frozenset(
    "init current_device current_stream default_stream get_device_capability get_device_name "
    "get_device_properties get_rng_state mem_get_info set_rng_state synchronize "
    "utilization temperature can_device_access_peer _lazy_init".split()
)
_NOTHING_DONE = frozenset(
    "empty_cache ipc_collect manual_seed manual_seed_all reset_accumulated_memory_stats "
    "reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats seed seed_all "
    "set_device set_stream".split()
)
_ZERO = frozenset(
    "max_memory_allocated max_memory_cached max_memory_reserved memory_allocated memory_cached "
    "memory_reserved".split()
)


def memory_stats(device=None) -> dict:
    """An empty dictionary."""
    return {}


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """An empty text."""
    return ""


def get_rng_state_all() -> list:
    """An empty list: one state per device."""
    return []


def set_rng_state_all(new_states) -> None:
    """Does nothing: there are no devices."""


def get_arch_list() -> list:
    """An empty list."""
    return []


def device(device):
    """A block that changes nothing."""
    return nullcontext()


def device_of(obj):
    """A block that changes nothing."""
    return nullcontext()


def stream(stream):
    """A block that changes nothing."""
    return nullcontext()


class Stream:
    """Raises: a stream needs a device."""

    def __new__(cls, *args, **kwargs):
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """Raises: an event needs a device."""

    def __new__(cls, *args, **kwargs):
        raise RuntimeError("torch.cuda.Event requires CUDA support")


class OutOfMemoryError(RuntimeError):
    """Memory of a device ran out."""


def __getattr__(name: str):
    if name == "amp":
        from importlib import import_module

        return import_module(f"{__name__}.amp")
    if name in _DEVICE_NEEDED:
        return _refuse
    if name in _NOTHING_DONE:
        return lambda *args, **kwargs: None
    if name in _ZERO:
        return lambda device=None: 0
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")
