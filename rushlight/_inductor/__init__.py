"""The compiler's back end: nothing is compiled; its settings are kept and not read."""

from __future__ import annotations

from rushlight import _absent
from rushlight.compiler import cudagraph_mark_step_begin  # noqa: F401

_REASON = "rushlight runs code as it is, with kernels that were compiled when it was built."


def list_mode_options(mode=None, dynamic=None) -> dict:
    """An empty dictionary."""
    return {}


def list_options() -> list:
    """An empty list."""
    return []


class _Group:
    """Settings by subject."""

    def __init__(self, **values):
        vars(self).update(values)


config = _absent.settings(
    "_inductor.config", compile_threads=1, conv_1x1_as_mm=False, coordinate_descent_tuning=False,
    cpp=_Group(threads=-1, simdlen=None), cpp_wrapper=False, debug=False, epilogue_fusion=True,
    force_fuse_int_mm_with_mul=False, freezing=False, fx_graph_cache=True, max_autotune=False,
    max_autotune_gemm=False, max_autotune_pointwise=False, shape_padding=True,
    trace=_Group(enabled=False), triton=_Group(cudagraphs=False, unique_kernel_names=True),
    use_mixed_mm=True,
)  # fmt: skip
__getattr__ = _absent.names(
    "_inductor", _REASON, "CompiledArtifact aot_compile aoti_compile_and_package "
    "aoti_load_package compile standalone_compile",
)  # fmt: skip
_absent.submodule("_inductor.utils", _REASON, "run_and_get_code")
