"""Decompositions of matrices of low rank by random projection.

Halko, Martinsson, Tropp: Finding structure with randomness (2009), algorithms 4.4 and 5.1.
"""

from __future__ import annotations

import rushlight as torch

__all__ = ["pca_lowrank", "svd_lowrank"]


def get_approximate_basis(A, q: int, niter: int | None = 2, M=None):
    """An orthonormal basis (m, q) of nearly all that ``A - M`` (m, n) reaches."""
    niter = 2 if niter is None else niter
    dtype = A.dtype if A.is_floating_point() or A.is_complex() else torch.float32
    if M is not None:
        A = A - M
    R = torch.randn(A.shape[-1], q, dtype=dtype, device=A.device)
    Q = torch.linalg.qr(torch.matmul(A, R)).Q
    for _ in range(niter):
        Q = torch.linalg.qr(torch.matmul(A.mH, Q)).Q
        Q = torch.linalg.qr(torch.matmul(A, Q)).Q
    return Q


def svd_lowrank(A, q: int | None = 6, niter: int | None = 2, M=None):
    """The largest ``q`` singular values of ``A - M`` and their vectors, nearly: (U, S, V).

    ``A`` is (..., m, n), ``q`` a little above the rank, ``niter`` a number of refinements.
    """
    q = 6 if q is None else q
    if M is not None:
        M = M.broadcast_to(A.size())
        A = A - M
    m, n = A.shape[-2:]
    wide = m < n  # the basis is found for the longer dimension
    if wide:
        A = A.mH
    Q = get_approximate_basis(A, q, niter=niter)
    U, S, Vh = torch.linalg.svd(torch.matmul(Q.mH, A), full_matrices=False)
    U, V = Q.matmul(U), Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A, q: int | None = None, center: bool = True, niter: int = 2):
    """Principal components of ``A`` (..., m, n), m samples of n features: (U, S, V).

    ``center`` takes each column's mean off first. Raises ValueError where ``q`` exceeds
    min(m, n) or ``niter`` is negative.
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - A.mean(dim=(-2,), keepdim=True)
    return svd_lowrank(A, q, niter=niter, M=None)
