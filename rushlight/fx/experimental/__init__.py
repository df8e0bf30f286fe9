"""Parts of torch.fx.experimental."""

from __future__ import annotations

from rushlight import _absent

__getattr__ = _absent.names("fx.experimental")
