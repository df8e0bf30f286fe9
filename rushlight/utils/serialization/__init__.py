"""Settings of ``torch.save`` and ``torch.load``: ``config``."""

import mmap
from types import SimpleNamespace

from rushlight import _absent

__all__ = ["config"]

config = _absent.settings(
    "utils.serialization.config",
    save=SimpleNamespace(
        compute_crc32=True, use_pinned_memory_for_d2h=False, storage_alignment=64
    ),
    load=SimpleNamespace(
        mmap=False, endianness=None, mmap_flags=getattr(mmap, "MAP_PRIVATE", None),
        calculate_storage_offsets=False,
    ),
)  # fmt: skip
