"""Mixed precision: autocast, which computes chosen ops in a lower dtype, and GradScaler."""

from __future__ import annotations

from . import autocast_mode
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def __getattr__(name: str):
    # The settings are attributes of torch itself; they live in autocast_mode.
    if "autocast" in name and hasattr(autocast_mode, name):
        return getattr(autocast_mode, name)
    raise AttributeError(f"module 'torch.amp' has no attribute '{name}'")
