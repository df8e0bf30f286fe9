"""Extreme eigenvalues of large symmetric matrices, by iteration.

Knyazev 2001, "Toward the optimal preconditioned eigensolver: locally optimal block preconditioned
conjugate gradient method", SIAM J. Sci. Comput. 23, algorithm 4.1.
"""

from __future__ import annotations

import rushlight as torch


def _orthonormal(X, B):
    """The columns of X made orthonormal by B, dependent ones left out (Cholesky or eigenvalues)."""
    gram = X.mH @ (X if B is None else B @ X)
    scales = gram.diagonal().real.clamp(min=torch.finfo(X.dtype).tiny).rsqrt()
    X, gram = X * scales, scales[:, None] * gram * scales
    values, vectors = torch.linalg.eigh(gram)
    kept = values > values[-1] * torch.finfo(X.dtype).eps * 10
    return X @ (vectors[:, kept] * values[kept].rsqrt())


def _one(A, B, X, iK, niter, tol, largest):
    """One matrix: the problem on the orthonormal span of iterate, residual and direction."""
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
