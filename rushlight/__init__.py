"""Rushlight: a small, quick torch that explains itself. ``import rushlight as torch``."""

from . import _C

globals().update(_C._functions_table)
from ._C import *  # noqa: E402, F403
