"""python -m rushlight.utils.collect_env: what a bug report should say about the machine.

The fields, their order and the texts are those of PyTorch's own on a machine without a GPU.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections import namedtuple

import rushlight as torch

TORCH_AVAILABLE = True
SystemEnv = namedtuple(
    "SystemEnv",
    "torch_version is_debug_build cuda_compiled_version gcc_version clang_version cmake_version os "
    "libc_version python_version python_platform is_cuda_available cuda_runtime_version "
    "cuda_module_loading nvidia_driver_version nvidia_gpu_models cudnn_version is_xpu_available "
    "pip_version pip_packages conda_packages hip_compiled_version hip_runtime_version "
    "miopen_runtime_version caching_allocator_config is_xnnpack_available cpu_info",
)
COMMON_PATTERNS = {"torch", "numpy", "triton", "optree"}
NVIDIA_PATTERNS: set = set()
ONEAPI_PATTERNS: set = set()
CONDA_PATTERNS = {"cudatoolkit", "soumith", "mkl", "magma"}
PIP_PATTERNS = {"mypy", "flake8", "onnx", "openblas", "rushlight"}

env_info_fmt = """
PyTorch version: {torch_version}
Is debug build: {is_debug_build}
CUDA used to build PyTorch: {cuda_compiled_version}
ROCM used to build PyTorch: {hip_compiled_version}

OS: {os}
GCC version: {gcc_version}
Clang version: {clang_version}
CMake version: {cmake_version}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CUDA runtime version: {cuda_runtime_version}
CUDA_MODULE_LOADING set to: {cuda_module_loading}
GPU models and configuration: {nvidia_gpu_models}
Nvidia driver version: {nvidia_driver_version}
cuDNN version: {cudnn_version}
Is XPU available: {is_xpu_available}
HIP runtime version: {hip_runtime_version}
MIOpen runtime version: {miopen_runtime_version}
Is XNNPACK available: {is_xnnpack_available}
Caching allocator config: {caching_allocator_config}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}
{conda_packages}
""".strip()


def run(command):
    """Runs a command, a text or a list: (exit status, its output, its errors), stripped."""
    try:
        done = subprocess.run(
            command, shell=isinstance(command, str), capture_output=True, text=True, timeout=60,
            check=False, errors="replace", env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, "", str(error)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def run_and_read_all(run_lambda, command):
    """The output of a command, or None if it fails."""
    status, output, _ = run_lambda(command)
    return output if status == 0 else None


def run_and_parse_first_match(run_lambda, command, regex):
    """The first group of ``regex`` in a command's output, or None."""
    match = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return match and match.group(1)


def run_and_return_first_line(run_lambda, command):
    """The first line of a command's output, or None if it fails."""
    output = run_and_read_all(run_lambda, command)
    return None if output is None else output.split("\n")[0]


def get_gcc_version(run_lambda):
    """What follows "gcc" in the first line of ``gcc --version``."""
    return run_and_parse_first_match(run_lambda, ["gcc", "--version"], r"gcc (.*)")


def get_clang_version(run_lambda):
    """What follows "clang version"."""
    return run_and_parse_first_match(run_lambda, ["clang", "--version"], r"clang version (.*)")


def get_cmake_version(run_lambda):
    """Such as "version 3.25.1"."""
    return run_and_parse_first_match(run_lambda, ["cmake", "--version"], r"cmake (.*)")


def get_platform() -> str:
    """linux, darwin, win32 ..."""
    return "linux" if sys.platform.startswith("linux") else sys.platform


def get_os(run_lambda=run) -> str:
    """The name of the system and the kind of machine."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return platform.platform()
    return f"{release.get('PRETTY_NAME', 'Linux')} ({platform.machine()})"


def get_libc_version() -> str:
    """Such as "glibc-2.36"; N/A where it is not Linux."""
    return "-".join(platform.libc_ver()) if get_platform() == "linux" else "N/A"


def get_python_platform() -> str:
    """``platform.platform()``."""
    return platform.platform()


def get_cpu_info(run_lambda=run) -> str:
    """What lscpu says, or the name and number of the processors where it is missing."""
    told = run_and_read_all(run_lambda, ["lscpu"]) if get_platform() == "linux" else None
    return told or f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors"


def get_pip_packages(run_lambda=run, patterns=None):
    """("pip3", the installed packages whose names have one of ``patterns``, a line each)."""
    from importlib.metadata import distributions

    patterns = PIP_PATTERNS | COMMON_PATTERNS if patterns is None else patterns
    found = {}
    for package in distributions():
        name = package.metadata["Name"]
        if name and any(pattern in name for pattern in patterns):
            found.setdefault(name, f"{name}=={package.version}")
    return "pip3", "\n".join(found[name] for name in sorted(found, key=str.lower))


def get_conda_packages(run_lambda=run, patterns=None):
    """None: Rushlight comes from pip."""
    return None


def get_env_info() -> SystemEnv:
    """What is known about Python, the system and the packages."""
    version = sys.version.replace("\n", " ")
    return SystemEnv(
        torch_version=torch.__version__,
        is_debug_build="False",
        cuda_compiled_version=None,
        gcc_version=get_gcc_version(run),
        clang_version=get_clang_version(run),
        cmake_version=get_cmake_version(run),
        os=get_os(run),
        libc_version=get_libc_version(),
        python_version=f"{version} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=get_python_platform(),
        is_cuda_available="False",
        cuda_runtime_version=None,
        cuda_module_loading="N/A",
        nvidia_driver_version=None,
        nvidia_gpu_models=None,
        cudnn_version=None,
        is_xpu_available="False",
        pip_version="pip3",
        pip_packages=get_pip_packages(run)[1],
        conda_packages=None,
        hip_compiled_version="N/A",
        hip_runtime_version="N/A",
        miopen_runtime_version="N/A",
        caching_allocator_config={},
        is_xnnpack_available="False",
        cpu_info=get_cpu_info(run),
    )


def pretty_str(envinfo: SystemEnv) -> str:
    """The report: what is unknown "Could not collect", each package behind who installed it."""

    def lines(text, mark):
        return "\n".join(f"[{mark}] {line}" for line in (text or "Could not collect").split("\n"))

    known = envinfo._asdict()
    known["pip_packages"] = lines(known["pip_packages"], known["pip_version"])
    known["conda_packages"] = lines(known["conda_packages"], "conda")
    known["caching_allocator_config"] = known["caching_allocator_config"] or "N/A"
    shown = {name: "Could not collect" if v is None else v for name, v in known.items()}
    return env_info_fmt.format(**shown)


def get_pretty_env_info() -> str:
    """The report of this machine."""
    return pretty_str(get_env_info())


def main() -> None:
    """Prints it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
