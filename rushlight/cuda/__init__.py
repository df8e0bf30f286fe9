"""CUDA devices: there are none, and what needs one says so as PyTorch's CPU build does."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import nullcontext

from .. import _absent
from .._streams import AcceleratorError, OutOfMemoryError, StreamContext  # noqa: F401

__all__ = ["current_device", "device_count", "empty_cache", "is_available", "synchronize"]

_refused = _absent.names("cuda")
has_half = True
has_magma = False
default_generators: tuple = ()


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def is_tf32_supported() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def _refuse(*args, **kwargs):
    raise AssertionError("Torch not compiled with CUDA enabled")


_DEVICE_NEEDED = frozenset(
    "_lazy_init caching_allocator_alloc caching_allocator_delete can_device_access_peer "
    "change_current_allocator clock_rate cudart current_blas_handle current_device "
    "current_solver_handle current_stream default_stream device_memory_used get_device_capability "
    "get_device_name get_device_properties get_per_process_memory_fraction get_rng_state "
    "get_stream_from_external init initial_seed mem_get_info memory_usage power_draw "
    "set_per_process_memory_fraction set_rng_state synchronize temperature utilization".split()
)
_NOTHING_DONE = frozenset(
    "_lazy_call caching_allocator_enable check_error empty_cache ipc_collect manual_seed "
    "manual_seed_all reset_accumulated_host_memory_stats reset_accumulated_memory_stats "
    "reset_max_memory_allocated reset_max_memory_cached reset_peak_host_memory_stats "
    "reset_peak_memory_stats seed seed_all set_device set_stream set_sync_debug_mode".split()
)
_ZERO = frozenset(
    "get_sync_debug_mode max_memory_allocated max_memory_cached max_memory_reserved "
    "memory_allocated memory_cached memory_reserved".split()
)
_SUBMODULES = ("graphs", "memory", "nvtx", "random", "streams")
_TENSOR_TYPES = frozenset(
    kind + "Tensor" for kind in "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()
)


def memory_stats(device=None) -> OrderedDict:
    """An empty dictionary."""
    return OrderedDict()


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """An empty text."""
    return ""


def get_rng_state_all() -> list:
    """An empty list: one state per device."""
    return []


def set_rng_state_all(new_states) -> None:
    """Does nothing: there are no devices."""


def get_arch_list() -> list:
    """An empty list."""
    return []


def device(device):
    """A block that changes nothing."""
    return nullcontext()


def device_of(obj):
    """A block that changes nothing."""
    return nullcontext()


def stream(stream):
    """A block that changes nothing."""
    return nullcontext()


def memory_stats_as_nested_dict(device=None) -> dict:
    """An empty dictionary."""
    return {}


def host_memory_stats() -> OrderedDict:
    """An empty dictionary."""
    return OrderedDict()


def host_memory_stats_as_nested_dict() -> dict:
    """An empty dictionary."""
    return {}


def list_gpu_processes(device=None) -> str:
    """A text: there are no GPUs."""
    return "no processes are running"


def memory_snapshot(mempool_id=None) -> list:
    """An empty list."""
    return []


def get_gencode_flags() -> str:
    """An empty text."""
    return ""


def get_allocator_backend() -> str:
    """The name of PyTorch's allocator of device memory."""
    return "native"


def is_current_stream_capturing() -> bool:
    """False: there are no graphs of device work."""
    return False


class _NeedsDevice(type):
    """The type of classes whose objects live on a device: making one raises."""

    def __call__(cls, *args, **kwargs):
        raise RuntimeError(f"torch.cuda.{cls.__name__} requires CUDA support")


class Stream(metaclass=_NeedsDevice):
    """Raises: a stream needs a device."""


class ExternalStream(Stream):
    """Raises: a stream needs a device."""


class Event(metaclass=_NeedsDevice):
    """Raises: an event needs a device."""


class CUDAGraph(metaclass=_NeedsDevice):
    """Raises: a graph needs a device."""


class MemPool(metaclass=_NeedsDevice):
    """Raises: a pool needs a device."""


class CUDAPluggableAllocator(metaclass=_NeedsDevice):
    """Raises: an allocator needs a device."""


class graph(metaclass=_NeedsDevice):
    """Raises: a graph needs a device."""


class CudaError(RuntimeError):
    """A call of CUDA failed; never raised here."""


class DeferredCudaCallError(Exception):
    """A delayed call of CUDA failed; never raised here."""


def make_graphed_callables(callables, *args, **kwargs):
    """Raises: a graph needs a device."""
    _refuse()


def graph_pool_handle():
    """Raises: a graph needs a device."""
    _refuse()


class _TensorType(type):
    def __instancecheck__(cls, instance) -> bool:
        return False

    def __call__(cls, *args, **kwargs):
        raise TypeError(
            f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
        )


def _no_nvtx(*args, **kwargs):
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def __getattr__(name: str):
    if name == "amp":
        from importlib import import_module

        return import_module(f"{__name__}.amp")
    if name in _DEVICE_NEEDED:
        return _refuse
    if name in _NOTHING_DONE:
        return lambda *args, **kwargs: None
    if name in _ZERO:
        return lambda device=None: 0
    if name in _TENSOR_TYPES:
        return _TensorType(name, (), {"__module__": "torch.cuda", "is_cuda": True})
    return _refused(name)


def _add_submodules() -> None:
    import sys
    from types import ModuleType

    for name in _SUBMODULES:
        module = ModuleType(f"{__name__}.{name}", "Names of torch.cuda, by subject.")
        module.__getattr__ = lambda name: getattr(sys.modules[__name__], name)
        globals()[name] = sys.modules[module.__name__] = module
    for name in ("mark", "range", "range_end", "range_pop", "range_push", "range_start"):
        setattr(nvtx, name, _no_nvtx)  # noqa: F821  (made above)


_add_submodules()
