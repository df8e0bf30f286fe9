"""autocast for the CPU, deprecated in favour of torch.amp.autocast."""

from __future__ import annotations

import warnings

import rushlight as torch
from rushlight.amp import autocast_mode

__all__ = ["autocast"]


class autocast(autocast_mode.autocast):
    """``torch.amp.autocast("cpu", ...)``."""

    def __init__(self, enabled=True, dtype=torch.bfloat16, cache_enabled=True):
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. "
            "Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
