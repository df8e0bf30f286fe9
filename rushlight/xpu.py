"""Intel GPUs: there are none."""

from __future__ import annotations

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Does nothing: there are no devices."""


def empty_cache() -> None:
    """Does nothing: there are no devices."""


def synchronize() -> None:
    """Raises: there is no device to wait for."""
    raise RuntimeError("Torch not compiled with XPU enabled")
