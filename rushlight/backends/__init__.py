"""Switches of libraries behind the ops, as PyTorch has them; those we lack are off."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]


def _never(*args, **kwargs) -> bool:
    return False


def _always(*args, **kwargs) -> bool:
    return True


def _flags_of(module):
    @contextmanager
    def flags(**settings):
        """Sets attributes of the module for a block."""
        before = {name: getattr(module, name) for name in settings}
        vars(module).update(settings)
        try:
            yield
        finally:
            vars(module).update(before)

    return flags


def _module(name: str, doc: str, available=_never, **settings) -> ModuleType:
    module = ModuleType(f"{__name__}.{name}", doc)
    module.is_available = available
    vars(module).update(settings)
    module.flags = _flags_of(module)
    sys.modules[module.__name__] = module
    return module


def _settings(**values):
    from types import SimpleNamespace

    return SimpleNamespace(**values)


def _cpu_capability() -> str:
    from rushlight import _C

    return _C._cpu_capability() if hasattr(_C, "_cpu_capability") else "DEFAULT"


cpu = _module("cpu", "The CPU.", _always, get_cpu_capability=_cpu_capability)
cuda = _module(
    "cuda",
    "CUDA's libraries.",
    is_built=_never,
    matmul=_settings(
        allow_tf32=False,
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
    ),
    flash_sdp_enabled=_always,
    mem_efficient_sdp_enabled=_always,
    math_sdp_enabled=_always,
    enable_flash_sdp=lambda enabled: None,
    enable_mem_efficient_sdp=lambda enabled: None,
    enable_math_sdp=lambda enabled: None,
)
cudnn = _module(
    "cudnn",
    "cuDNN.",
    version=lambda: None,
    is_acceptable=_never,
    enabled=True,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
)
mha = _module("mha", "Multi-head attention.", get_fastpath_enabled=_always,
              set_fastpath_enabled=lambda value: None)  # fmt: skip
mkl = _module("mkl", "Intel's library: not used.")
mkldnn = _module("mkldnn", "Intel's library: not used.", enabled=True, deterministic=False)
mps = _module("mps", "Apple's GPUs: none.", is_built=_never, is_macos_or_newer=_never)
openmp = _module("openmp", "OpenMP: we have threads of our own.")
opt_einsum = _module("opt_einsum", "Orders of einsum's products.", enabled=False, strategy=None)
quantized = _module("quantized", "Quantised ops: none.", engine="none", supported_engines=["none"])
nnpack = _module("nnpack", "NNPACK: not used.")
