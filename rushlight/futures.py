"""Future: a value that comes later, and what follows from it."""

from __future__ import annotations

import threading
import types

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value that another thread sets; functions can wait for it.

    Args:
        devices: devices whose streams would be waited for; there are none.
    """

    __class_getitem__ = classmethod(types.GenericAlias)

    def __init__(self, *, devices=None):
        self._devices = [] if devices is None else list(devices)
        self._changed = threading.Condition()
        self._done = False
        self._value = self._error = None
        self._callbacks: list = []

    def done(self) -> bool:
        """Whether the value, or an exception, is there."""
        return self._done

    def wait(self):
        """The value, as soon as it is there; raises the exception that was set."""
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        if self._error is not None:
            raise self._error
        return self._value

    def value(self):
        """The value, which must be there."""
        if not self._done:
            raise RuntimeError("completed() INTERNAL ASSERT FAILED: the Future has no value yet")
        return self.wait()

    def _complete(self, value, error) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def set_result(self, result) -> None:
        """Sets the value; runs the callbacks in this thread."""
        self._complete(result, None)

    def set_exception(self, result) -> None:
        """Sets an exception, which whoever waits will get."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def add_done_callback(self, callback) -> None:
        """Calls ``callback(self)`` when the value is there; at once if it is already."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback) -> Future:
        """A Future of ``callback(self)``, which is called when this one is done."""
        following = Future()

        def run(done):
            try:
                result = callback(done)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self.add_done_callback(run)
        return following


def collect_all(futures) -> Future:
    """A Future of the list of these Futures, when all are done."""
    futures = list(futures)
    everything = Future()
    left, lock = len(futures), threading.Lock()

    def one_done(_):
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            everything.set_result(futures)

    for future in futures:
        future.add_done_callback(one_done)
    if not futures:
        everything.set_result(futures)
    return everything


def wait_all(futures) -> list:
    """The values of all, in order; raises the first exception."""
    return [future.wait() for future in collect_all(futures).wait()]
