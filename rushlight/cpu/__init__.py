"""The CPU as a device with streams: everything is in order already."""

from __future__ import annotations

from contextlib import nullcontext

__all__ = ["current_device", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """The name of the device."""
    return "cpu"


def set_device(device) -> None:
    """Does nothing."""


def synchronize(device=None) -> None:
    """Does nothing: ops are done when they return."""


def stream(stream):
    """A block that changes nothing."""
    return nullcontext()


def __getattr__(name: str):
    if name == "amp":
        from importlib import import_module

        return import_module(f"{__name__}.amp")
    raise AttributeError(f"module 'torch.cpu' has no attribute '{name}'")
