"""Triton: not there."""

from __future__ import annotations


def has_triton_package() -> bool:
    """False."""
    return False


has_triton = has_triton_tma = has_triton_tma_device = has_triton_package
has_triton_experimental_host_tma = has_triton_stable_tma_api = has_triton_package
