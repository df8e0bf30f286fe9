"""Apple's GPUs: there are none."""

from __future__ import annotations

from . import _absent

__all__ = ["device_count", "is_available"]

__path__: list = []  # its modules are known by name
_refused = _absent.names("mps")


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def _refuse(*args, **kwargs):
    raise RuntimeError("Torch not compiled with MPS enabled: ask torch.backends.mps.is_available()")


_DEVICE_NEEDED = frozenset(
    "Event compile_shader current_allocated_memory driver_allocated_memory get_rng_state "
    "load_metallib recommended_max_memory seed set_per_process_memory_fraction set_rng_state "
    "synchronize".split()
)
_NOTHING_DONE = frozenset(
    "empty_cache manual_seed".split()
)


def __getattr__(name: str):
    if name in _DEVICE_NEEDED:
        return _refuse
    if name in _NOTHING_DONE:
        return lambda *args, **kwargs: None
    return _refused(name)
