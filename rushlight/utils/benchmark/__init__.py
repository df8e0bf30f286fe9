"""Timing of statements, and tables that compare them."""

# ruff: noqa: F401  (names are imported to be found here)

from .compare import Colorize, Compare
from .measurement import Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from .timer import Language, Timer, set_torch_threads, timer
