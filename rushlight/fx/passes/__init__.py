"""Parts of torch.fx.passes."""

from __future__ import annotations

from rushlight import _absent

__getattr__ = _absent.names("fx.passes")
