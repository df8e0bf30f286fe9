"""Families over vectors and matrices that are given by matrices."""

from __future__ import annotations

import math
import warnings
from numbers import Number

import rushlight as torch

from . import constraints
from .distribution import Distribution, ExponentialFamily
from .gamma_families import Beta, Chi2
from .utils import _standard_normal, broadcast_all, lazy_property

__all__ = ["LKJCholesky", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"]

_LOG_TAU = math.log(2 * math.pi)


def _batch_mv(matrix, vector):
    return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _squared_norm_after(triangle, x):
    """|L^-1 x|^2 for lower triangles L."""
    solved = torch.linalg.solve_triangular(triangle, x.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def _log_diagonal(triangle):
    return triangle.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _with_identity(matrix):
    eye = torch.eye(matrix.size(-1), dtype=matrix.dtype, device=matrix.device)
    return matrix + eye


def _precision_to_scale_tril(precision):
    """L with L L^T = P^-1: the Cholesky factor of P read backwards, inverted."""
    backwards = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    upper = torch.flip(backwards, (-2, -1)).mT
    eye = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return torch.linalg.solve_triangular(upper, eye, upper=False)


def _the_one_given(error, **matrices):
    """Name and matrix of the argument that is not None; ``error`` unless it is the only one."""
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        raise error(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    return given[0]


class MultivariateNormal(Distribution):
    """Normal vectors, given by covariance, precision or a lower triangle L of covariance L L^T."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None,
        validate_args=None,
    ):  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = _the_one_given(
            ValueError, scale_tril=scale_tril, covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
        )  # fmt: skip
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{what} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MultivariateNormal, _instance)
        batch_shape = torch.Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                shape = batch_shape + self.event_shape + self.event_shape
                setattr(new, name, self.__dict__[name].expand(shape))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expanded(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The lower triangle L."""
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """L L^T."""
        triangle = self._unbroadcasted_scale_tril
        return self._expanded(torch.matmul(triangle, triangle.mT))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._expanded(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        rows = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return rows.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, normal)

    def log_prob(self, value):
        self._checked(value)
        triangle = self._unbroadcasted_scale_tril
        distance = _squared_norm_after(triangle, value - self.loc)
        return -0.5 * (self._event_shape[0] * _LOG_TAU + distance) - _log_diagonal(triangle)

    def entropy(self):
        half_log_det = _log_diagonal(self._unbroadcasted_scale_tril)
        value = 0.5 * self._event_shape[0] * (1.0 + _LOG_TAU) + half_log_det
        return value.expand(self._batch_shape) if self._batch_shape else value


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of covariance W W^T + diag(d), by the matrix determinant lemma.

    Source: the Woodbury identity keeps every matrix to the size of W's columns.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, "
                "with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            wide = torch.broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_factor, self.cov_diag = wide[0][..., 0], wide[1], wide[2][..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        capacitance = _with_identity(torch.matmul(scaled, cov_factor))
        self._capacitance_tril = torch.linalg.cholesky(capacitance)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        batch_shape = torch.Size(batch_shape)
        shape = batch_shape + self.event_shape
        new.loc, new.cov_diag = self.loc.expand(shape), self.cov_diag.expand(shape)
        new.cov_factor = self.cov_factor.expand(shape + self.cov_factor.shape[-1:])
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self):
        """The covariance's diagonal."""
        value = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return value.expand(self._batch_shape + self._event_shape)

    def _expanded(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The covariance's Cholesky factor."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        inner = _with_identity(torch.matmul(scaled, scaled.mT))
        return self._expanded(root * torch.linalg.cholesky(inner))

    @lazy_property
    def covariance_matrix(self):
        """W W^T + diag(d)."""
        factor = self._unbroadcasted_cov_factor
        product = torch.matmul(factor, factor.mT)
        return self._expanded(product + torch.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self):
        """The covariance's inverse."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        solved = torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._expanded(torch.diag_embed(diagonal.reciprocal()) - solved.mT @ solved)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        options = self.loc.dtype, self.loc.device
        along = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], *options)
        apart = _standard_normal(shape, *options)
        moved = self.loc + _batch_mv(self._unbroadcasted_cov_factor, along)
        return moved + self._unbroadcasted_cov_diag.sqrt() * apart

    def _log_det(self):
        diagonal = self._unbroadcasted_cov_diag.log().sum(-1)
        return 2 * _log_diagonal(self._capacitance_tril) + diagonal

    def _distance(self, offset):
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        taken = _squared_norm_after(self._capacitance_tril, _batch_mv(scaled, offset))
        return (offset.pow(2) / diagonal).sum(-1) - taken

    def log_prob(self, value):
        self._checked(value)
        distance = self._distance(value - self.loc)
        return -0.5 * (self._event_shape[0] * _LOG_TAU + self._log_det() + distance)

    def entropy(self):
        value = 0.5 * (self._event_shape[0] * (1.0 + _LOG_TAU) + self._log_det())
        return value.expand(self._batch_shape) if self._batch_shape else value


class LKJCholesky(Distribution):
    """Cholesky factors of random correlation matrices.

    Source: Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on
    vines and extended onion method", section 3.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        options = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        offset = torch.arange(dim - 1, **options)
        offset = torch.cat([offset.new_zeros((1,)), offset])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        shape = self.concentration.size()
        super().__init__(shape, torch.Size((dim, dim)), validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = torch.Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand((*batch_shape, self.dim))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape=torch.Size()):
        # Rows: a direction on the sphere, a squared length from the beta, the rest on the diagonal.
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        normal = torch.randn(shape, dtype=y.dtype, device=y.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        rows = torch.sqrt(y) * direction
        rest = (1 - torch.sum(rows**2, dim=-1)).clamp(min=torch.finfo(rows.dtype).tiny).sqrt()
        return rows + torch.diag_embed(rest)

    def log_prob(self, value):
        self._checked(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        norm = 0.5 * less * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, less)
        norm = norm - torch.lgamma(alpha) * less
        return torch.sum(order * diagonal.log(), dim=-1) - norm


class Wishart(ExponentialFamily):
    """Positive definite matrices: sums of outer products of normal vectors.

    Source of the sampler: Bartlett's decomposition (Sawyer, "Wishart Distributions and
    Inverse-Wishart Sampling").
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None,
        validate_args=None,
    ):  # fmt: skip
        name, matrix = _the_one_given(
            AssertionError, scale_tril=scale_tril, covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
        )  # fmt: skip
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if isinstance(df, Number):
            batch_shape = torch.Size(matrix.shape[:-2])
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        n = matrix.shape[-1]
        if self.df.le(n - 1).any():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}."
            )
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        steps = torch.arange(n, dtype=matrix.dtype, device=matrix.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - steps.expand((*batch_shape, -1)))
        self._batch_dims = [-(i + 1) for i in range(len(batch_shape))]

    @property
    def arg_constraints(self):
        """The regions of the parameters; that of ``df`` depends on the size."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = torch.Size(batch_shape)
        shape = batch_shape + self.event_shape
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(shape)
        new.df = self.df.expand(batch_shape)
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(shape))
        new._dist_chi2 = self._dist_chi2.expand((*batch_shape, self.event_shape[-1]))
        new._batch_dims = [-(i + 1) for i in range(len(batch_shape))]
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expanded(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape)

    scale_tril = lazy_property(MultivariateNormal.__dict__["scale_tril"].wrapped)
    covariance_matrix = lazy_property(MultivariateNormal.__dict__["covariance_matrix"].wrapped)
    precision_matrix = lazy_property(MultivariateNormal.__dict__["precision_matrix"].wrapped)

    def _wide_df(self):
        return self.df.view((*self._batch_shape, 1, 1))

    mean = property(lambda self: self._wide_df() * self.covariance_matrix)

    @property
    def mode(self):
        """The peak, where there is one."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = torch.where(factor > 0, factor, math.nan)
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self):
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._wide_df() * (self.covariance_matrix.pow(2) + outer)

    def _drawn(self, sample_shape):
        """L A A^T L^T for a lower triangle A of chi and normal variables."""
        eps = torch.finfo(self._unbroadcasted_scale_tril.dtype).eps
        chi = self._dist_chi2.rsample(sample_shape).sqrt().clamp(min=eps)
        bartlett = chi.diag_embed()
        i, j = torch.tril_indices(*self._event_shape, offset=-1)
        shape = (*sample_shape, *self._batch_shape, i.numel())
        bartlett[..., i, j] = torch.randn(shape, dtype=chi.dtype, device=chi.device)
        factor = self._unbroadcasted_scale_tril @ bartlett
        return factor @ factor.mT

    @property
    def _natural_params(self):
        p = self._event_shape[-1]
        return -self.precision_matrix / 2, (self.df - p - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return torch.mvlgamma(half, p) - half * torch.linalg.slogdet(-x).logabsdet

    def _over_batch(self, flags):
        return flags.amax(self._batch_dims) if self._batch_dims else flags

    def rsample(self, sample_shape=torch.Size(), max_try_correction=None):
        """Samples; singular ones are drawn again, ``max_try_correction`` (10) times at most.

        As in PyTorch, whose first check is turned round, regular samples are drawn again once:
        the random stream is the same.
        """
        sample_shape = torch.Size(sample_shape)
        sample = self._drawn(sample_shape)
        again = self._over_batch(self.support.check(sample))
        if not again.any():
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            fresh = self._drawn(again[again].shape)
            sample[again] = fresh
            again[again.clone()] = self._over_batch(~self.support.check(fresh))
            if not again.any():
                break
        return sample

    def log_prob(self, value):
        self._checked(value)
        df, n = self.df, self._event_shape[0]
        triangle = self._unbroadcasted_scale_tril
        log_det = torch.linalg.slogdet(value).logabsdet
        inner = torch.cholesky_solve(value, triangle).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (
            -df * (n * math.log(2) / 2 + _log_diagonal(triangle))
            - torch.mvlgamma(df / 2, p=n)
            + (df - n - 1) / 2 * log_det
            - inner / 2
        )

    def entropy(self):
        df, n = self.df, self._event_shape[0]
        half = df.unsqueeze(-1) / 2
        steps = torch.arange(n, dtype=df.dtype, device=df.device) / 2
        digamma = torch.digamma(half - steps).sum(-1)
        return (
            (n + 1) * (n * math.log(2) / 2 + _log_diagonal(self._unbroadcasted_scale_tril))
            + torch.mvlgamma(df / 2, p=n)
            - (df - n - 1) / 2 * digamma
            + df * n / 2
        )
