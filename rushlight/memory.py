"""Memory of tensors on the CPU: how much is in use, the most there was, and who holds it.

All figures are bytes of the process since it began; `reset_peak` begins the peak anew.
"""

from __future__ import annotations

from . import _C

__all__ = [
    "allocated",
    "cache_limit",
    "empty_cache",
    "peak",
    "record",
    "reserved",
    "reset_peak",
    "set_cache_limit",
    "snapshot",
    "stats",
    "summary",
]


def stats() -> dict[str, int]:
    """All counters: bytes allocated, peak and reserved, allocations and releases made."""
    return dict(_C._memory_stats())


def allocated() -> int:
    """Bytes that tensors use now."""
    return _C._memory_stats()["allocated"]


def peak() -> int:
    """The most bytes in use at once since the last `reset_peak`."""
    return _C._memory_stats()["peak"]


def reserved() -> int:
    """Bytes held from the system, in use or kept for the next tensors."""
    return _C._memory_stats()["reserved"]


def reset_peak() -> None:
    """Makes the bytes in use now the peak."""
    _C._reset_peak_memory()


def empty_cache() -> None:
    """Gives memory that no tensor uses back to the system."""
    _C._empty_cache()


def cache_limit() -> int:
    """The most bytes that are kept for reuse; at first a quarter of the machine's memory."""
    return _C._cache_limit()


def set_cache_limit(count: int) -> None:
    """Sets the most bytes that are kept for reuse; beyond them memory that no tensor uses goes back
    to the system. Writing into memory that was kept is many times quicker than into fresh pages.

    Args:
        count: Bytes; 0 keeps nothing but blocks of up to 4 KiB.

    Raises:
        ValueError: `count` is negative.
    """
    if count < 0:
        raise ValueError(f"the limit must not be negative, got {count}")
    _C._set_cache_limit(count)


def summary() -> str:
    """The counters as a table of text."""
    now = stats()
    rows = [
        ("in use", _text(now["allocated"])),
        ("peak", _text(now["peak"])),
        ("reserved", _text(now["reserved"])),
        ("kept for reuse", _text(now["reserved"] - now["allocated"])),
        ("at most kept", _text(cache_limit())),
        ("allocations", f"{now['allocations']:,}"),
        ("releases", f"{now['releases']:,}"),
    ]
    width = max(len(value) for _, value in rows)
    lines = [f"{name:<16}{value:>{width}}" for name, value in rows]
    return "\n".join(["-- tensor memory " + "-" * max(0, width - 1), *lines])


def _text(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(count) >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


class record:
    """Watches memory inside a ``with`` block; then `timeline`, `holders` and `peak` tell of it."""

    def __init__(self):
        self._session = None
        self.before = 0

    def __enter__(self):
        from .autograd.profiler import profile

        self.before = allocated()
        self._session = profile(
            profile_memory=True, record_shapes=True, with_stack=True, with_modules=True
        )
        self._session.__enter__()
        return self

    def __exit__(self, *_):
        self._session.__exit__(None, None, None)

    @property
    def timeline(self) -> list:
        """Points in time with the live bytes of each category, at each change."""
        from .profiler.memory_timeline import timeline

        return timeline(self._session.recording)

    @property
    def holders(self) -> list:
        """Who held memory at its peak: bytes, category, line and module, largest first."""
        from .profiler.memory_timeline import holders

        return holders(self._session.recording)

    @property
    def peak(self) -> int:
        """The most bytes that what was allocated inside the block took at once."""
        return max([0, *(sum(p.live.values()) for p in self.timeline)])


def snapshot() -> dict:
    """The counters and the storages that live modules hold, largest first.

    Returns:
        ``stats``, and ``holders``: dicts of module (class), name, kind (parameter, gradient or
        buffer), shape, dtype and bytes.
    """
    import gc

    from .nn import Module

    seen, found = set(), []
    for module in [o for o in gc.get_objects() if isinstance(o, Module)]:
        own = [("parameter", *p) for p in module.named_parameters(recurse=False)]
        own += [("buffer", *b) for b in module.named_buffers(recurse=False)]
        own += [
            ("gradient", n, p.grad) for k, n, p in own if k == "parameter" and p.grad is not None
        ]
        for kind, name, tensor in own:
            where = tensor.untyped_storage().data_ptr()
            if where in seen or not where:
                continue
            seen.add(where)
            found.append(
                {
                    "module": type(module).__name__,
                    "name": name,
                    "kind": kind,
                    "shape": tuple(tensor.shape),
                    "dtype": str(tensor.dtype),
                    "bytes": tensor.untyped_storage().nbytes(),
                }
            )
    found.sort(key=lambda h: -h["bytes"])
    return {"stats": stats(), "holders": found}
