"""What comes into our code from outside: a signal may be handled between any two of its lines.

What the program's handler raises then is the program's, with the traceback that it would have had.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from time import monotonic
from types import FrameType

from rushlight import _C

_DIAGNOSIS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PACKAGE = os.path.dirname(os.path.dirname(_DIAGNOSIS)) + os.sep
_PYTHON = os.path.dirname(os.__file__) + os.sep


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception came out of our code but is not of its making.

    What a function outside of it raised that was given a frame (a signal's handler, a debugger's
    trace) is not, nor what another thread threw in. Frames of ours then go from the traceback, and
    what we were handling from the context.
    """
    try:
        return _came_in(error)
    except Exception:  # the program may have put others in the place of the builtins
        return False


def _came_in(error: BaseException) -> bool:
    innermost, traceback = None, error.__traceback__
    while traceback is not None and not _is_handler(traceback.tb_frame):
        innermost, traceback = traceback.tb_frame, traceback.tb_next
    if traceback is None and not _is_thrown_in(error, innermost):
        return False
    error.__traceback__ = traceback
    while error.__context__ is not None and _is_ours(error.__context__):
        error.__context__ = error.__context__.__context__
    return True


def _is_handler(frame) -> bool:
    """Whether a frame, none of ours, has a frame as its argument, alone or in its ``*args``."""
    code, held = frame.f_code, _C._locals(frame)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 1]  # the last for *args
    given = [held.get(n) for n in names]
    given += [one for g in given if type(g) is tuple for one in g]
    return not _is_diagnosis(frame) and any(type(one) is FrameType for one in given)


def _is_thrown_in(error: BaseException, innermost) -> bool:
    """Whether a line of the package's or Python's raised a class of neither.

    Without a frame it was seen before: its traceback has been cut.
    """
    room = type(error).__module__.partition(".")[0]
    if room in ("rushlight", "torch") or room in sys.stdlib_module_names:
        return False
    if innermost is None:
        return True
    file = innermost.f_code.co_filename
    if file.startswith(_PACKAGE):
        return True
    return file.startswith((_PYTHON, "<frozen ")) and "-packages" not in file


def _is_ours(error: BaseException) -> bool:
    """Whether code of the diagnosis is where an exception was caught."""
    traceback = error.__traceback__
    return traceback is not None and _is_diagnosis(traceback.tb_frame)


def _is_diagnosis(frame) -> bool:
    return frame is not None and frame.f_code.co_filename.startswith(_DIAGNOSIS)


@contextlib.contextmanager
def alarm_held(counted: bool = False):
    """A block of ours in which the program's alarm does not ring.

    It goes on behind the block: from where it was, or where the block's time is ``counted`` with so
    much less, at once if it is due.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    began = monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        if left:
            spent = monotonic() - began if counted else 0.0
            signal.setitimer(signal.ITIMER_REAL, max(left - spent, 1e-6), interval)
