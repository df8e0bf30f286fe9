"""Approximate factors of low rank by random projections, and extreme eigenvalues of large matrices.

Halko, Martinsson and Tropp 2009, "Finding structure with randomness", section 5.
"""

from __future__ import annotations

import rushlight as torch


def _range_of(A, q, niter):
    """An orthonormal basis (m, q) of about A's range: algorithm 4.4."""
    R = torch.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = torch.linalg.qr(A @ R).Q
    for _ in range(niter):
        Q = torch.linalg.qr(A.mH @ Q).Q
        Q = torch.linalg.qr(A @ Q).Q
    return Q


def svd_lowrank(A, q=6, niter=2, M=None):
    """U (..., m, q), S (..., q) and V (..., n, q) with A - M about U diag(S) V^H.

    ``niter`` is the number of power iterations; more are more exact.
    """
    q = 6 if q is None else q
    m, n = A.shape[-2:]
    if M is not None:
        A = A - M
    if m < n:
        A = A.mH
    Q = _range_of(A, q, niter)
    U, S, Vh = torch.linalg.svd(Q.mH @ A, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if m < n else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """The first ``q`` principal components of rows A (..., m, n), as ``svd_lowrank`` gives them.

    ``center`` takes the mean of each column off first. Raises ValueError where ``q`` exceeds
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
        A = A - A.mean(dim=-2, keepdim=True)
    return svd_lowrank(A, q, niter=niter)


def _orthonormal(X, B):
    """The columns of X made orthonormal by B, dependent ones left out (Cholesky or eigenvalues)."""
    gram = X.mH @ (X if B is None else B @ X)
    scales = gram.diagonal().real.clamp(min=torch.finfo(X.dtype).tiny).rsqrt()
    X, gram = X * scales, scales[:, None] * gram * scales
    values, vectors = torch.linalg.eigh(gram)
    kept = values > values[-1] * torch.finfo(X.dtype).eps * 10
    return X @ (vectors[:, kept] * values[kept].rsqrt())


def _one(A, B, X, iK, niter, tol, largest):
    """Knyazev 2001, algorithm 4.1, on the orthonormal span of iterate, residual and direction."""
    k = X.shape[1]
    X, P = _orthonormal(X, B), None
    for _ in range(max(niter, 1)):
        small = X.mH @ (A @ X)
        values, vectors = torch.linalg.eigh((small + small.mH) / 2)
        X = X @ vectors
        BX = X if B is None else B @ X
        residual = A @ X - BX * values
        scale = A.norm() + values.abs() * (1 if B is None else B.norm())
        if (residual.norm(dim=0) <= tol * scale * X.norm(dim=0)).all():
            break
        W = residual if iK is None else iK @ residual
        basis = _orthonormal(torch.cat([X, W] if P is None else [X, W, P], 1), B)
        small = basis.mH @ (A @ basis)
        values, vectors = torch.linalg.eigh((small + small.mH) / 2)
        chosen = vectors[:, -k:] if largest else vectors[:, :k]
        after = basis @ chosen
        P, X = after - X @ (BX.mH @ after), after
    order = slice(None, None, -1) if largest else slice(None)
    values = values[-k:] if largest else values[:k]
    index = torch.arange(k)[list(range(k))[order]]
    return values[index], X[:, index]


def lobpcg(
    A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None,
    tracker=None, ortho_iparams=None, ortho_fparams=None, ortho_bparams=None,
):  # fmt: skip
    """The ``k`` largest (or smallest) eigenvalues of symmetric A (..., m, m), and their vectors.

    ``B`` makes the problem A x = lambda B x, ``X`` (..., m, n) is a first guess, ``iK`` a
    preconditioner, ``niter`` the most iterations and ``tol`` the residual at which they end.
    ``method`` and what follows are accepted and change nothing. Raises ValueError where m < 3 k.
    """
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    if m < 3 * n:
        raise ValueError(
            f"LPBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than "
            f"3 x the number of requested eigenpairs (={n})"
        )
    if tol is None:
        tol = {torch.float32: 1.2e-7, torch.float64: 2.2e-16}[A.dtype] ** 0.5
    niter = m if niter is None else niter
    largest = True if largest is None else largest
    lead = A.shape[:-2]
    flat = A.reshape(-1, m, m)
    found = []
    for i in range(flat.shape[0]):
        part = [None if t is None else t.expand(*lead, *t.shape[-2:]).reshape(-1, *t.shape[-2:])[i]
                for t in (B, X, iK)]  # fmt: skip
        guess = part[1] if part[1] is not None else torch.randn(m, n, dtype=A.dtype)
        values, vectors = _one(flat[i], part[0], guess, part[2], niter, tol, largest)
        found.append((values[:k], vectors[:, :k]))
    values, vectors = (torch.stack(f) for f in zip(*found, strict=True))
    return values.reshape(*lead, k), vectors.reshape(*lead, m, k)
