"""Training over several processes: not there, and ``is_available()`` says so."""

from __future__ import annotations

import datetime

from rushlight import _absent

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
        "Default process group has not been initialized, "
        "please make sure to call init_process_group."
    )


get_world_size = get_rank


def is_nccl_available() -> bool:
    """False."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """False."""
    return False


_REASON = (
    "rushlight runs in one process. Guard the call with torch.distributed.is_available(), which is "
    "False."
)
_refused = _absent.names("distributed", _REASON)


def __getattr__(name: str):
    # Their members are mentioned in defaults.
    if name in ("ReduceOp", "reduce_op", "group", "GroupMember"):
        members = dict.fromkeys("AVG BAND BOR BXOR MAX MIN PRODUCT SUM WORLD".split())
        value = type(name, (), {"__module__": "torch.distributed", **members})
        globals()[name] = value
        return value
    return _refused(name)


# What decorates a main function: torchrun would record its errors.
_absent.submodule(
    "distributed.elastic.multiprocessing.errors", record=lambda fn, error_handler=None: fn
)
_absent.submodule(
    "distributed.constants", _REASON, default_pg_timeout=datetime.timedelta(minutes=30),
    default_pg_nccl_timeout=None,
)  # fmt: skip
_absent.submodule(
    "distributed._tensor.experimental", _REASON,
    "context_parallel implicit_replication local_map register_sharding",
)  # fmt: skip
