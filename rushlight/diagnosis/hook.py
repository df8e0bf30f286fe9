"""The one hook that an import puts in front of ``sys.excepthook``: cheap until something fails."""

import os
import sys


def install() -> None:
    """Explains exceptions that reach the top, then calls the hook that stood there."""
    before = sys.excepthook
    if getattr(before, "is_rushlights", False):
        return

    def hook(kind, error, traceback):
        if os.environ.get("RUSHLIGHT_EXPLAIN", "1") != "0" and isinstance(error, Exception):
            try:
                from .notes import explain

                explain(error)
            except Exception:  # an explanation that fails must not hide the error
                pass
        before(kind, error, traceback)

    hook.is_rushlights = True
    sys.excepthook = hook
