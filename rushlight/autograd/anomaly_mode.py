"""Anomaly mode: backward names the forward line of a failing or NaN-making step."""

from __future__ import annotations

import sys

from .. import _C

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """Switches anomaly mode at once; as a context manager, until the block ends.

    While it is on, each step of the graph remembers the Python stack of its forward call. When
    its backward raises, or makes a NaN (``check_nan``), a warning shows that stack.
    """

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before = _C._set_anomaly(mode), _C._set_anomaly_check_nan(check_nan)

    def __enter__(self):
        return None

    def __exit__(self, *error):
        _C._set_anomaly(self._before[0])
        _C._set_anomaly_check_nan(self._before[1])


class detect_anomaly:
    """Anomaly mode inside a block; see ``set_detect_anomaly``."""

    def __init__(self, check_nan: bool = True):
        import warnings

        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self):
        self._before = _C._set_anomaly(True), _C._set_anomaly_check_nan(self._check_nan)

    def __exit__(self, *error):
        _C._set_anomaly(self._before[0])
        _C._set_anomaly_check_nan(self._before[1])


def _stack_text() -> str:
    """The Python stack as text, for the core; without what ``rushlight run`` and its like add."""
    import traceback

    frames = list(traceback.walk_stack(sys._getframe(1)))  # the innermost first
    command = getattr(sys.modules.get("rushlight.cli.program"), "__file__", None)
    files = [frame.f_code.co_filename for frame, _ in frames]
    if command in files:
        frames = frames[: files.index(command)]
    return "".join(traceback.StackSummary.extract(reversed(frames)).format())
