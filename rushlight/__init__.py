"""Rushlight: a small, quick torch that explains itself. ``import rushlight as torch``."""

from . import _C
from ._C import *  # noqa: F403

globals().update(_C._functions_table)
