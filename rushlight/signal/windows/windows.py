"""Window functions of ``torch.signal.windows``: symmetric, unless ``sym=False`` (for spectra)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import wraps

import rushlight as torch

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


def _window(values):
    """The public function of ``values(length, spread, sym, options, ...)``.

    It checks the arguments and serves length 0. ``spread`` is the distance from the first element
    to the last: of a window for spectra, to the one after it.
    """
    name = values.__name__

    @wraps(values)
    def window(
        M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False, **more
    ):
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not torch.strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        options = {"dtype": dtype, "device": device}
        with torch.no_grad():
            spread = M - 1 if sym or M <= 1 else M
            made = values(M, spread, sym, options, **more)
            made = made if M else torch.empty((0,), **options)
        return made.requires_grad_(requires_grad)

    del window.__wrapped__
    return window


def _steps(start, step, M, options):
    return torch.linspace(start, start + (M - 1) * step, M, **options)


@_window
def exponential(M, spread, sym, options, *, center=None, tau=1.0):
    """exp(-|n - center| / tau); ``center`` is the middle, and may be given if ``sym`` is False."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return None
    center = spread / 2 if center is None else center
    return torch.exp(-torch.abs(_steps(-center / tau, 1 / tau, M, options)))


@_window
def cosine(M, spread, sym, options):
    """sin(pi (n + 1/2) / M)."""
    if M == 0:
        return None
    step = math.pi / (spread + 1)
    return torch.sin(_steps(step / 2, step, M, options))


@_window
def gaussian(M, spread, sym, options, *, std=1.0):
    """exp(-(n - middle)^2 / (2 std^2))."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return None
    step = 1 / (std * math.sqrt(2))
    return torch.exp(-(_steps(-spread / 2 * step, step, M, options) ** 2))


@_window
def kaiser(M, spread, sym, options, *, beta=12.0):
    """I0(beta sqrt(1 - x^2)) / I0(beta) for x from -1 to 1."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M <= 1:
        return torch.ones((M,), **options)
    last = min(beta, -beta + (M - 1) * 2 * beta / spread)
    x = torch.linspace(-beta, last, M, **options)
    return torch.i0(torch.sqrt(beta * beta - x**2)) / torch.i0(torch.tensor(beta, **options))


@_window
def bartlett(M, spread, sym, options):
    """1 - |x| for x from -1 to 1."""
    if M <= 1:
        return torch.ones((M,), **options)
    return 1 - torch.abs(_steps(-1, 2 / spread, M, options))


def _cosines(M, spread, weights, options):
    if M <= 1:
        return torch.ones((M,), **options)
    x = _steps(0, 2 * math.pi / spread, M, options)
    signed = [(-1) ** k * w for k, w in enumerate(weights)]
    weights = torch.tensor(signed, **options).unsqueeze(-1)
    order = torch.arange(len(signed), **options).unsqueeze(-1)
    return (weights * torch.cos(order * x)).sum(0)


@_window
def general_cosine(M, spread, sym, options, *, a):
    """The sum of (-1)^k a[k] cos(2 pi k x) for x from 0 to 1."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(M, spread, a, options)


@_window
def general_hamming(M, spread, sym, options, *, alpha=0.54):
    """alpha - (1 - alpha) cos(2 pi x) for x from 0 to 1."""
    return _cosines(M, spread, [alpha, 1 - alpha], options)


@_window
def hamming(M, spread, sym, options):
    """0.54 - 0.46 cos(2 pi x) for x from 0 to 1."""
    return _cosines(M, spread, [0.54, 1 - 0.54], options)


@_window
def hann(M, spread, sym, options):
    """(1 - cos(2 pi x)) / 2 for x from 0 to 1."""
    return _cosines(M, spread, [0.5, 0.5], options)


@_window
def blackman(M, spread, sym, options):
    """0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x) for x from 0 to 1."""
    return _cosines(M, spread, [0.42, 0.5, 0.08], options)


@_window
def nuttall(M, spread, sym, options):
    """Nuttall's window of four terms with continuous first derivative."""
    return _cosines(M, spread, [0.3635819, 0.4891775, 0.1365995, 0.0106411], options)
