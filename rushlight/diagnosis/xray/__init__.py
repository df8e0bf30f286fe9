"""The x-ray: runs a program unchanged, records it, and says what each of its lines did."""

from __future__ import annotations

import gc
import os
import traceback

from rushlight import _C
from rushlight._ranges import recordings
from rushlight.profiler.recording import Recording

from .. import hook
from ..frames import is_user_code, message_of


class Xray:
    """One recorded run of one program.

    ``about``: title, command and date, for the page's head. ``script``: the file that is shown
    first. ``limit``: of events; what a program does after that runs unrecorded (``full`` says so).
    """

    def __init__(self, about: dict, script: str | None = None, limit: int = 100_000):
        self.about, self.script, self.limit = about, script, limit
        self.folder = os.getcwd()  # the program may change it
        self.status = 0
        self.error: BaseException | None = None
        self._recorder = _C.Recorder(
            tensors=True, memory=True, nodes=True, modules=True, limit=limit
        )

    @property
    def full(self) -> bool:
        """Whether the program did more than was recorded."""
        return self._recorder.full

    def run(self, program) -> int:
        """Runs ``program()``, which gives (exit status, error), under record."""
        recordings.append(self._recorder)
        self._recorder.start()
        try:
            self.status, self.error = program()
        finally:
            self._recorder.stop()
            recordings.remove(self._recorder)
        if self.error is not None:
            hook.add_note(self.error)
        return self.status

    def data(self) -> dict:
        """What the page shows, as JSON knows it."""
        from .report import page_data

        about = {
            **self.about,
            "status": self.status,
            "full": self.full,
            "limit": self.limit,
            "error": _described(self.error),
        }
        # Nothing made here is garbage; the collector would walk all of it again and again.
        collects = gc.isenabled()
        gc.disable()
        try:
            return page_data(Recording(self._recorder), self.folder, self.script, **about)
        finally:
            if collects:
                gc.enable()


def _described(error: BaseException | None) -> dict | None:
    """An error: its message, its notes, and the user's lines that it came through."""
    if error is None:
        return None
    at = [
        [frame.f_code.co_filename, number]
        for frame, number in traceback.walk_tb(error.__traceback__)
        if is_user_code(frame.f_code)
    ]
    if isinstance(error, SyntaxError) and error.lineno and os.path.isabs(error.filename or ""):
        at.append([error.filename, error.lineno])
    return {
        "type": type(error).__name__,
        "text": message_of(error)[:4000],
        "notes": [str(n)[:8000] for n in getattr(error, "__notes__", ())][:8],
        "at": at[-20:],
    }
