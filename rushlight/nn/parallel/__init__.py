"""Modules over several devices or processes, as far as one process on a CPU has them."""

from __future__ import annotations

from rushlight import _absent

from .data_parallel import DataParallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
__getattr__ = _absent.names("nn.parallel")
