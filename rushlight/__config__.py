"""How this build was made and what it runs on."""

from __future__ import annotations

__all__ = ["parallel_info", "show"]


def show() -> str:
    """A readable text about the build."""
    from . import _C, __version__

    level = getattr(_C, "_cpu_level", None)
    lines = ["PyTorch built with:", f"  - Rushlight, which runs programs of {__version__}"]
    lines.append("  - OpenBLAS")
    if level is not None:
        lines.append(f"  - CPU capability usage: {level() if callable(level) else level}")
    return "\n".join([*lines, ""])


def parallel_info() -> str:
    """A readable text about threads."""
    import os

    from . import get_num_interop_threads, get_num_threads

    return (
        "ATen/Parallel:\n"
        f"\tat::get_num_threads() : {get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
        f"std::thread::hardware_concurrency() : {os.cpu_count()}\n"
        "Environment variables:\n"
        f"\tOMP_NUM_THREADS : {os.environ.get('OMP_NUM_THREADS', '[not set]')}\n"
        f"\tMKL_NUM_THREADS : {os.environ.get('MKL_NUM_THREADS', '[not set]')}\n"
    )
