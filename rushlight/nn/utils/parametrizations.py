"""Ready parametrizations: weight normalization, spectral normalization, orthogonality."""

from __future__ import annotations

import rushlight as torch

from ..._reductions import norm_except_dim
from .. import functional as F
from ..modules.module import Module
from . import parametrize


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight):
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Split ``module.name`` into length and direction (Salimans and Kingma 2016).

    ``dim`` is the dimension each index of which has a length of its own; None: one length.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_old_keys(state_dict, prefix, *rest):
        # Checkpoints of the hook form hold name_g and name_v.
        keys = [f"{prefix}{name}_{part}" for part in ("g", "v")]
        if all(key in state_dict for key in keys):
            for index, key in enumerate(keys):
                state_dict[f"{prefix}parametrizations.{name}.original{index}"] = state_dict.pop(
                    key
                )

    module._register_load_state_dict_pre_hook(rename_old_keys)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but "
                f"got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            h, w = matrix.size()
            u = matrix.new_empty(h).normal_(0, 1)
            v = matrix.new_empty(w).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=self.eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=self.eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight):
        if self.dim != 0:
            others = (d for d in range(weight.dim()) if d != self.dim)
            weight = weight.permute(self.dim, *others)
        return weight.flatten(1)

    def _power_method(self, matrix, n_power_iterations):
        # In place: buffers that others hold see the new vectors.
        with torch.no_grad():
            for _ in range(n_power_iterations):
                F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
                F.normalize(torch.mv(matrix.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the next call changes the vectors, and backward still needs these.
        u = self._u.clone(memory_format=torch.contiguous_format)
        v = self._v.clone(memory_format=torch.contiguous_format)
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value):
        return value


def _default_dim(module, dim):
    if dim is not None:
        return dim
    transposed = (
        torch.nn.ConvTranspose1d,
        torch.nn.ConvTranspose2d,
        torch.nn.ConvTranspose3d,
    )
    return 1 if isinstance(module, transposed) else 0


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide ``module.name`` by its largest singular value (Miyato et al. 2018)."""
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = _default_dim(module, dim)
    parametrize.register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )
    return module


def _is_orthogonal(Q, eps=None):
    n, k = Q.size(-2), Q.size(-1)
    if n < k:
        Q, n, k = Q.mT, k, n
    identity = torch.eye(k, dtype=Q.dtype, device=Q.device)
    tolerance = 10.0 * n * torch.finfo(Q.dtype).eps if eps is None else eps
    return torch.allclose(Q.mH @ Q, identity, atol=tolerance)


def _make_orthogonal(A):
    """The orthogonal factor of A, with the signs of LAPACK's reflectors."""
    X, tau = torch.geqrf(A)
    Q = torch.linalg.householder_product(X, tau)
    Q *= X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return Q


class _Orthogonal(Module):
    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError(
                "The householder parametrization does not support complex tensors."
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        transposed = X.size(-2) < X.size(-1)
        if transposed:
            X = X.mT
        n, k = X.size(-2), X.size(-1)
        if self.orthogonal_map == "householder":
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = torch.linalg.householder_product(A, tau)
            # The diagonal holds the signs of the columns.
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            Q = self._map(self._skew(X, n, k), n)[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    @staticmethod
    def _skew(X, n, k):
        X = X.tril()
        if n != k:
            X = torch.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
        return X - X.mH

    def _map(self, A, n):
        if self.orthogonal_map == "matrix_exp":
            return torch.matrix_exp(A)
        identity = torch.eye(n, dtype=A.dtype, device=A.device)
        return torch.linalg.solve(
            torch.add(identity, A, alpha=-0.5), torch.add(identity, A, alpha=0.5)
        )

    def right_inverse(self, Q):
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        with torch.no_grad():
            transposed = Q.size(-2) < Q.size(-1)
            tall = Q.mT if transposed else Q
            if hasattr(self, "base"):
                self.base = self._completed(tall)
                result = torch.zeros_like(Q)
                result.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
                return result
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            A, tau = torch.geqrf(tall)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            # LAPACK marks a column that needed no reflection by tau = 0.
            diagonal[tau == 0.0] *= -1
            return A.mT if transposed else A

    @staticmethod
    def _completed(tall):
        n, k = tall.size(-2), tall.size(-1)
        if n == k:
            return tall.clone() if _is_orthogonal(tall) else _make_orthogonal(tall)
        rest = torch.randn(*tall.size()[:-2], n, n - k, dtype=tall.dtype, device=tall.device)
        return _make_orthogonal(torch.cat([tall, rest], dim=-1))


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep ``module.name`` orthogonal (Lezcano-Casado and Martinez-Rubio 2019).

    ``orthogonal_map``: matrix_exp, cayley or householder; by default matrix_exp for square and
    complex matrices, householder for others.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    parametrization = _Orthogonal(
        weight, orthogonal_map, use_trivialization=use_trivialization
    )
    parametrize.register_parametrization(module, name, parametrization, unsafe=True)
    return module
