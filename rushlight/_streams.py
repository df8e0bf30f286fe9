"""Streams and events of the CPU, where every op is done when it returns."""

from __future__ import annotations

import time

from . import _C


def _cpu_only(kind: str, device):
    device = _C.device("cpu" if device is None else device)
    if device.type != "cpu":
        raise RuntimeError(
            f"torch.{kind} on {device.type} needs a {device.type} device, and rushlight has the "
            "CPU: leave the device out."
        )
    return device


class Stream:
    """A queue of work; on the CPU it is always empty."""

    def __init__(self, device=None, priority: int = 0, **kwargs):
        self.device = _cpu_only("Stream", device)
        self.device_index, self.device_type, self.stream_id = -1, 0, 0

    def query(self) -> bool:
        """True: nothing is waited for."""
        return True

    def synchronize(self) -> None:
        """Does nothing."""

    def wait_event(self, event) -> None:
        """Does nothing."""

    def wait_stream(self, stream) -> None:
        """Does nothing."""

    def record_event(self, event=None):
        """Records ``event``, or a new one, and returns it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __eq__(self, other):
        return isinstance(other, Stream)

    def __hash__(self):
        return 0

    def __repr__(self):
        return "torch.Stream device_type=cpu, device_index=-1, stream_id=0"


class Event:
    """A moment in a stream; on the CPU the moment at which it was recorded."""

    def __init__(
        self, device=None, *, enable_timing=False, blocking=False, interprocess=False
    ):
        self.device = _cpu_only("Event", device)
        self.event_id = 0
        self._time = None

    def record(self, stream=None) -> None:
        """Takes the time."""
        self._time = time.perf_counter()

    def query(self) -> bool:
        """True: what was recorded is done."""
        return True

    def synchronize(self) -> None:
        """Does nothing."""

    def wait(self, stream=None) -> None:
        """Does nothing."""

    def elapsed_time(self, end_event) -> float:
        """Milliseconds from this event to ``end_event``, both recorded."""
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return 1e3 * (end_event._time - self._time)

    def __repr__(self):
        return "torch.Event device_type=cpu, device_index=-1, event_flag=0, event_id=0"


class StreamContext:
    """A block whose work goes to ``stream``: on the CPU it changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None


class AcceleratorError(RuntimeError):
    """A device failed; never raised here."""


class OutOfMemoryError(RuntimeError):
    """Memory of a device ran out; never raised here: the CPU's gives a RuntimeError."""


def get_device_module(device=None):
    """The module of a device's type, ``torch.cpu`` by default."""
    from importlib import import_module

    if device is None:
        name = "cpu"
    elif isinstance(device, (str, _C.device)):
        name = _C.device(device).type
    else:
        raise RuntimeError(
            f"Invalid value of device '{device}', expect torch.device, str, or None"
        )
    try:
        return import_module(f"{__package__}.{name}")
    except ModuleNotFoundError:
        raise RuntimeError(
            f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'."
        ) from None
