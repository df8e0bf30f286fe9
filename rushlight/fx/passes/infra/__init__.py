"""Parts of torch.fx.passes.infra."""

from __future__ import annotations

from rushlight import _absent

__getattr__ = _absent.names("fx.passes.infra")
