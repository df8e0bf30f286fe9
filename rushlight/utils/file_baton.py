"""A lock that is a file: one process has it, the others wait until it is gone."""

from __future__ import annotations

import os
import time
import warnings

__all__ = ["FileBaton"]


class FileBaton:
    """Processes that agree on a path take turns by making that file.

    ``wait_seconds`` passes between two looks; a warning comes after ``warn_after_seconds``.
    """

    def __init__(self, lock_file_path, wait_seconds=0.1, warn_after_seconds=None):
        self.lock_file_path = lock_file_path
        self.wait_seconds = wait_seconds
        self.fd = None
        self.warn_after_seconds = warn_after_seconds

    def try_acquire(self) -> bool | None:
        """Make the file; False where another process has made it."""
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def wait(self) -> None:
        """Return once the file is gone."""
        start, warned = time.time(), False
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)
            late = self.warn_after_seconds is not None
            if late and not warned and time.time() - start > self.warn_after_seconds:
                warnings.warn(
                    f'Waited on lock file "{self.lock_file_path}" for '
                    f"{self.warn_after_seconds} seconds.",
                    stacklevel=2,
                )
                warned = True

    def release(self) -> None:
        """Remove the file."""
        if self.fd is not None:
            os.close(self.fd)
        os.remove(self.lock_file_path)
