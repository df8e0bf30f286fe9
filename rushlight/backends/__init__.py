"""Switches of libraries behind the ops, as PyTorch has them; those we lack are off."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType

__all__ = [
    "cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "miopen", "mkl", "mkldnn", "mps",
    "nnpack", "openmp", "opt_einsum", "quantized",
]  # fmt: skip


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


class _Settings:
    """Named switches that can be set; another name is an error, as in PyTorch."""

    def __init__(self, **values):
        vars(self).update(values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name, value):
        getattr(self, name)
        object.__setattr__(self, name, value)


class _Matmul(_Settings):
    """Precision of products on CUDA; ``torch.set_float32_matmul_precision`` sets it, too."""

    @property
    def allow_tf32(self) -> bool:
        from rushlight import _settings

        return _settings.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, on: bool) -> None:
        from rushlight import _settings

        _settings.set_float32_matmul_precision("high" if on else "highest")


def _cpu_capability() -> str:
    from rushlight import _C

    return _C._cpu_capability() if hasattr(_C, "_cpu_capability") else "DEFAULT"


def _switch(module: ModuleType, ask: str, set_: str, on: bool = True) -> None:
    """Two functions of a module, one that tells a switch and one that sets it."""
    state = [on]

    def switch(enabled: bool) -> None:
        state[0] = bool(enabled)

    setattr(module, ask, lambda: state[0])
    setattr(module, set_, switch)


def _chosen(default: str):
    """A function that tells a preferred library and takes another, for what it is worth."""
    state = [default]

    def preferred(backend=None) -> str:
        if backend is not None:
            state[0] = str(backend)
        return state[0]

    return preferred


@contextmanager
def _nothing_changed(*args, **kwargs):
    yield


fp32_precision = "none"


class _SDPAParams:
    """What attention is asked for: its arguments, for the questions whether a kernel takes them."""

    def __init__(self, query, key, value, attn_mask, dropout, is_causal, enable_gqa):
        self.query, self.key, self.value = query, key, value
        self.attn_mask, self.dropout = attn_mask, dropout
        self.is_causal, self.enable_gqa = is_causal, enable_gqa


cpu = _module("cpu", "The CPU.", _always, get_cpu_capability=_cpu_capability)
cuda = _module(
    "cuda",
    "CUDA's libraries.",
    is_built=_never,
    matmul=_Matmul(
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
        allow_fp16_accumulation=False,
        fp32_precision="none",
    ),
    cufft_plan_cache=_Settings(size=0, max_size=0, clear=lambda: None),
    preferred_linalg_library=_chosen("default"),
    preferred_blas_library=_chosen("default"),
    preferred_rocm_fa_library=_chosen("default"),
    is_flash_attention_available=_never,
    is_ck_sdpa_available=_never,
    can_use_flash_attention=_never,
    can_use_efficient_attention=_never,
    can_use_cudnn_attention=_never,
    sdp_kernel=_nothing_changed,
    SDPAParams=_SDPAParams,
)
for _name in ("flash", "mem_efficient", "math", "cudnn"):
    _switch(cuda, f"{_name}_sdp_enabled", f"enable_{_name}_sdp")
_switch(cuda, "fp16_bf16_reduction_math_sdp_allowed", "allow_fp16_bf16_reduction_math_sdp", False)
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
    fp32_precision="none",
    conv=_Settings(fp32_precision="tf32"),
    rnn=_Settings(fp32_precision="tf32"),
)
cusparselt = _module("cusparselt", "Sparse products on CUDA.", version=lambda: None)
kleidiai = _module("kleidiai", "Arm's kernels: not used.")
mha = _module("mha", "Multi-head attention.")
_switch(mha, "get_fastpath_enabled", "set_fastpath_enabled")
miopen = _module("miopen", "AMD's library: none.", immediate=False)
mkl = _module(
    "mkl", "Intel's library: not used.", VERBOSE_OFF=0, VERBOSE_ON=1, verbose=_nothing_changed
)
mkldnn = _module(
    "mkldnn",
    "Intel's library: not used.",
    VERBOSE_OFF=0,
    VERBOSE_ON=1,
    VERBOSE_ON_CREATION=2,
    verbose=_nothing_changed,
    enabled=True,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
    matmul=_Settings(fp32_precision="none"),
    conv=_Settings(fp32_precision="none"),
    rnn=_Settings(fp32_precision="none"),
)
mps = _module(
    "mps", "Apple's GPUs: none.", is_built=_never, is_macos_or_newer=_never,
    is_macos13_or_newer=_never,
)  # fmt: skip
openmp = _module("openmp", "OpenMP: we have threads of our own.")
opt_einsum = _module(
    "opt_einsum", "Orders of einsum's products.", enabled=False, strategy=None,
    get_opt_einsum=lambda: None,
)  # fmt: skip
quantized = _module("quantized", "Quantised ops: none.", engine="none", supported_engines=["none"])
nnpack = _module("nnpack", "NNPACK: not used.")


def _set_flags_of(module):
    def set_flags(**settings):
        """Sets attributes of the module; returns the former values."""
        given = {f"{k.removeprefix('_')}": v for k, v in settings.items() if v is not None}
        before = tuple(getattr(module, name) for name in given)
        vars(module).update(given)
        return before

    return set_flags


for _module_with_flags in (cudnn, mkldnn, nnpack, opt_einsum):
    _module_with_flags.set_flags = _set_flags_of(_module_with_flags)
