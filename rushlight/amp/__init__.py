"""Mixed precision: autocast, which computes chosen ops in a lower dtype."""

# ruff: noqa: F401  (names are imported to be found here)

from __future__ import annotations

from . import autocast_mode
from .autocast_mode import (
    autocast,
    clear_autocast_cache,
    custom_bwd,
    custom_fwd,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)

__all__ = ["autocast", "autocast_mode", "custom_bwd", "custom_fwd", "is_autocast_available"]
