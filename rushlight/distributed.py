"""Training over several processes: not there, and ``is_available()`` says so."""

from __future__ import annotations

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """False: programs that ask first go on alone."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """False."""
    return False


def get_rank(group=None) -> int:
    """Raises ValueError: there is no process group."""
    raise ValueError(
        "Default process group has not been initialized, please call init_process_group."
    )


get_world_size = get_rank


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"module 'torch.distributed' has no attribute '{name}': rushlight runs in one process. "
        "Guard the call with torch.distributed.is_available()."
    )
