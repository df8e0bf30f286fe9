"""The CPU as a device with streams: everything is in order already."""

from __future__ import annotations

from contextlib import nullcontext

from .._streams import StreamContext  # noqa: F401

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


def is_initialized() -> bool:
    """True."""
    return True


class Stream:
    """A queue of work for the CPU, on which nothing ever waits."""

    def __init__(self, priority: int = -1):
        pass

    def synchronize(self) -> None:
        """Does nothing."""

    def wait_stream(self, stream) -> None:
        """Does nothing: what another stream was given is done."""

    def record_event(self, event=None):
        """``event``, or a new one."""
        return Event() if event is None else event

    def wait_event(self, event) -> None:
        """Does nothing."""


class Event:
    """A point in a stream, which is past."""

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream=None) -> None:
        """Does nothing."""

    def synchronize(self) -> None:
        """Does nothing."""

    def wait(self, stream=None) -> None:
        """Does nothing."""


_current_stream = Stream()


def current_stream(device=None) -> Stream:
    """The one stream that there is."""
    return _current_stream


def stream(stream):
    """A block that changes nothing."""
    return nullcontext()


def __getattr__(name: str):
    if name == "amp":
        from importlib import import_module

        return import_module(f"{__name__}.amp")
    raise AttributeError(f"module 'torch.cpu' has no attribute '{name}'")
