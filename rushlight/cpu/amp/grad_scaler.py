"""GradScaler for the CPU, deprecated in favour of torch.amp.GradScaler."""

from __future__ import annotations

import warnings

from rushlight import amp
from rushlight.amp.grad_scaler import OptState  # noqa: F401  (found here)

__all__ = ["GradScaler"]


class GradScaler(amp.GradScaler):
    """``torch.amp.GradScaler("cpu", ...)``."""

    def __init__(
        self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
        enabled=True,
    ):  # fmt: skip
        warnings.warn(
            "`torch.cpu.amp.GradScaler(args...)` is deprecated. "
            "Please use `torch.amp.GradScaler('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(
            "cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
