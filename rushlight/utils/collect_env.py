"""python -m rushlight.utils.collect_env: what a bug report should say about the machine."""

from __future__ import annotations

import os
import platform
import sys
from collections import namedtuple

import rushlight as torch

SystemEnv = namedtuple(
    "SystemEnv",
    "torch_version is_debug_build cuda_compiled_version hip_compiled_version gcc_version "
    "clang_version cmake_version os libc_version python_version python_platform "
    "is_cuda_available nvidia_gpu_models pip_packages cpu_info",
)


def _os() -> str:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return platform.platform()
    return f"{release.get('PRETTY_NAME', 'Linux')} ({platform.machine()})"


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            names = [x.partition(":")[2].strip() for x in lines if x.startswith("model name")]
        name = names[0] if names else ""
    except OSError:
        name = platform.processor()
    return f"{name}, {os.cpu_count()} processors"


def _packages() -> list[str]:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in ("numpy", "rushlight", "scipy-openblas32"):
        try:
            found.append(f"{name}=={version(name)}")
        except PackageNotFoundError:
            continue
    return found


def get_env_info() -> SystemEnv:
    """What is known about Python, the system and the packages."""
    return SystemEnv(
        torch_version=torch.__version__,
        is_debug_build=False,
        cuda_compiled_version=None,
        hip_compiled_version="N/A",
        gcc_version=None,
        clang_version=None,
        cmake_version=None,
        os=_os(),
        libc_version="-".join(platform.libc_ver()),
        python_version=f"{sys.version.split()[0]} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available=False,
        nvidia_gpu_models=None,
        pip_packages=_packages(),
        cpu_info=_cpu(),
    )


def get_pretty_env_info() -> str:
    """The same as a text."""
    info = get_env_info()
    lines = [
        f"PyTorch version: {info.torch_version} (Rushlight)",
        f"Is debug build: {info.is_debug_build}",
        "CUDA used to build PyTorch: Could not collect",
        "",
        f"OS: {info.os}",
        f"Libc version: {info.libc_version}",
        "",
        f"Python version: {info.python_version}",
        f"Python platform: {info.python_platform}",
        f"Is CUDA available: {info.is_cuda_available}",
        "",
        f"CPU: {info.cpu_info}",
        "",
        "Versions of relevant libraries:",
        *(f"[pip3] {package}" for package in info.pip_packages),
    ]
    return "\n".join(lines)


def main() -> None:
    """Prints it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
