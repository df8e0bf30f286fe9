"""The standard library's multiprocessing, whose queues and pipes pass tensors in shared memory."""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403

from .reductions import init_reductions
from .spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [  # noqa: PLE0604  (the names of a list of the standard library)
    "ENV_VAR_PARALLEL_START", "ProcessContext", "ProcessExitedException",
    "ProcessRaisedException", "SpawnContext", "get_all_sharing_strategies",
    "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
    *multiprocessing.__all__,
]  # fmt: skip

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Remembered only: tensors always travel as file descriptors."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {_STRATEGIES}"
        )
    _strategy = new_strategy


def get_sharing_strategy() -> str:
    """What ``set_sharing_strategy`` was told."""
    return _strategy


def get_all_sharing_strategies() -> set:
    """The names of the strategies."""
    return _STRATEGIES


init_reductions()
