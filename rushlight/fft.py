"""Fourier transforms: the ops of ``torch.fft``."""

from . import _C

globals().update(_C._fft_table)
__all__ = sorted(_C._fft_table)  # noqa: PLE0605
