"""Extensions in C++ against PyTorch's core: refused."""

from __future__ import annotations

from rushlight import _absent

_REASON = (
    "rushlight has no headers of PyTorch's C++ core. Write the operator in Python with "
    "torch.library.custom_op or torch.autograd.Function, or call C by ctypes on data_ptr()."
)
CUDA_HOME = ROCM_HOME = CUDNN_HOME = None
IS_HIP_EXTENSION = False


def include_paths(device_type: str = "cpu", *args) -> list:
    """An empty list."""
    return []


library_paths = include_paths


def is_ninja_available() -> bool:
    """Whether the program ninja is there."""
    import shutil

    return shutil.which("ninja") is not None


__getattr__ = _absent.names(
    "utils.cpp_extension", _REASON,
    "BuildExtension CUDAExtension CppExtension SyclExtension check_compiler_is_gcc "
    "check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version get_cxx_compiler "
    "load load_inline verify_ninja_availability",
)  # fmt: skip
