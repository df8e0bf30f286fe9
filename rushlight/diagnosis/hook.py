"""The hooks that an import puts where exceptions reach the top: cheap until something fails."""

import contextlib
import os
import sys
import threading

_silent = False


def is_wanted() -> bool:
    """Whether errors are to be explained: RUSHLIGHT_EXPLAIN=0 silences all."""
    return not _silent and os.environ.get("RUSHLIGHT_EXPLAIN", "1") != "0"


@contextlib.contextmanager
def silent():
    """A block in which nothing is explained."""
    global _silent
    before, _silent = _silent, True
    try:
        yield
    finally:
        _silent = before


def add_note(error: BaseException) -> None:
    """Explains an exception that has reached the top; its own failure does not hide it."""
    if not is_wanted() or not isinstance(error, Exception):
        return
    try:
        from .interrupts import alarm_held
        from .notes import explain

        with alarm_held():
            explain(error)
    except Exception as failure:
        from .interrupts import is_interrupt

        if is_interrupt(failure):  # of a session that goes on: IPython's, say
            raise


def install() -> None:
    """Explains exceptions that reach the top, then calls the hook that stood there."""
    _into_ipython()
    _into_threads()
    before = sys.excepthook
    if getattr(before, "is_rushlights", False):
        return

    def hook(kind, error, traceback):
        add_note(error)
        before(kind, error, traceback)

    hook.is_rushlights = True
    sys.excepthook = hook


def _into_threads() -> None:
    """Explains exceptions that end a thread."""
    before = threading.excepthook
    if hasattr(before, "without_note"):
        return

    def hook(args, /):
        if args.exc_value is not None:
            add_note(args.exc_value)
        before(args)

    hook.without_note = before
    threading.excepthook = hook


def _into_ipython() -> None:
    """In an IPython session errors end there, not in ``sys.excepthook``: of cells, and of %run."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if hasattr(module, "get_ipython") else None
    before = getattr(shell, "showtraceback", None)
    if before is None or getattr(before, "is_rushlights", False):
        return

    def showtraceback(exc_tuple=None, *args, **kwargs):
        error = (exc_tuple or sys.exc_info())[1]
        known = len(getattr(error, "__notes__", ()))
        add_note(error)
        before(exc_tuple, *args, **kwargs)
        notes = getattr(error, "__notes__", ())[known:]
        if notes and not _shows_notes(module):
            print("\n".join(notes), file=sys.stderr)

    showtraceback.is_rushlights = True
    shell.showtraceback = showtraceback


def _shows_notes(module) -> bool:
    """IPython prints an exception's notes itself from 8.14 on."""
    return tuple(getattr(module, "version_info", (0, 0)))[:2] >= (8, 14)
