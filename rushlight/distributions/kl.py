"""Kullback-Leibler divergences KL(p || q), and the table of those that are known.

A pair of one family has its own formula. Pairs of different continuous families go by
KL = -H(p) - E_p[log q]: p gives its moments, q its log density as a function of them.
"""

from __future__ import annotations

import math
import warnings

import rushlight as torch
from rushlight.nn.functional import softplus

from .combined import Independent, TransformedDistribution
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    OneHotCategorical,
    Poisson,
)
from .distribution import ExponentialFamily
from .gamma_families import Beta, Dirichlet, Exponential, Gamma, Pareto
from .location_scale import Cauchy, Gumbel, HalfNormal, Laplace, Normal, Uniform
from .matrix import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    _log_diagonal,
    _squared_norm_after,
)
from .relaxed import ContinuousBernoulli
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

_inf = math.inf
_KL_REGISTRY: dict = {}
_KL_MEMOIZE: dict = {}


def register_kl(type_p, type_q):
    """A decorator: the function computes KL(p || q) for these classes and their subclasses."""
    for kind, name in ((type_p, "type_p"), (type_q, "type_q")):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorate(function):
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorate


def _nearest(matches, first: int):
    """The match whose classes are most special, those at ``first`` before the others."""

    def depth(match):
        return [-len(match[i].__mro__) for i in (first, 1 - first)]

    return min(matches, key=depth)


def _dispatch_kl(type_p, type_q):
    matches = [
        pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])
    ]
    if not matches:
        return NotImplemented
    left, right = _nearest(matches, 0), _nearest(matches, 1)
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p, q):
    """KL(p || q), of the batch's shape."""
    kinds = type(p), type(q)
    function = _KL_MEMOIZE.get(kinds)
    if function is None:
        function = _KL_MEMOIZE[kinds] = _dispatch_kl(*kinds)
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
            f"{q.__class__.__name__}"
        )
    return function(p, q)


# ---- Within one family


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = ones.masked_fill(q.probs == 0, _inf).masked_fill(p.probs == 0, 0)
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return ones + zeros.masked_fill(q.probs == 1, _inf).masked_fill(p.probs == 1, 0)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    rest = (-p.probs).log1p() - (-q.probs).log1p()
    value = p.total_count * (p.probs * (p.logits - q.logits) + rest)
    return value.masked_fill(p.total_count > q.total_count, _inf)


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill((q.probs == 0).expand_as(terms), _inf)
    return terms.masked_fill((p.probs == 0).expand_as(terms), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    norms = p._cont_bern_log_norm() - q._cont_bern_log_norm()
    rest = torch.log1p(-p.probs) - torch.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + norms + rest


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    a, b = p.concentration, q.concentration
    norms = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - a.sum(-1).digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot "
            "                            be computed using Bregman divergences"
        )
    mine = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    normalizer = p._log_normalizer(*mine)
    grads = torch.autograd.grad(normalizer.sum(), mine, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for a, b, grad in zip(mine, q._natural_params, grads, strict=True):
        result = result - _sum_rightmost((b - a) * grad, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    a, b = p.concentration, q.concentration
    norms = b * (p.rate / q.rate).log() + torch.lgamma(b) - torch.lgamma(a)
    return norms + (a - b) * torch.digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = torch.exp((1 + ratio).lgamma() - shift)
    return -ratio.log() + shift + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    together = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return together.log() - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    value = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return value.masked_fill(p.scale < q.scale, _inf)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    value = ((q.high - q.low) / (p.high - p.low)).log()
    return value.masked_fill((q.low > p.low) | (q.high < p.high), _inf)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _gaussian(p, q, log_dets, trace, distance):
    if p.event_shape != q.event_shape:
        low = [isinstance(d, LowRankMultivariateNormal) for d in (p, q)]
        kind = "Low Rank " if all(low) else "(Low Rank) " if any(low) else ""
        raise ValueError(
            f"KL-divergence between two {kind}Multivariate Normals with "
            "                         different event shapes cannot be computed"
        )
    return 0.5 * (log_dets() + trace() + distance() - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p, q):
    mine, other = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril

    def trace():
        solved = torch.linalg.solve_triangular(other, mine, upper=False)
        return solved.pow(2).sum((-2, -1))

    return _gaussian(
        p, q, lambda: 2 * (_log_diagonal(other) - _log_diagonal(mine)), trace,
        lambda: _squared_norm_after(other, q.loc - p.loc),
    )  # fmt: skip


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_and_full(p, q):
    other = q._unbroadcasted_scale_tril

    def trace():
        root = torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())
        parts = [p._unbroadcasted_cov_factor, root]
        return sum(
            torch.linalg.solve_triangular(other, part, upper=False).pow(2).sum((-2, -1))
            for part in parts
        )

    return _gaussian(
        p, q, lambda: 2 * _log_diagonal(other) - p._log_det(), trace,
        lambda: _squared_norm_after(other, q.loc - p.loc),
    )  # fmt: skip


def _trace_with_low_rank(q, diagonal, factor):
    """Trace of q's precision times diag(d) + F F^T."""
    inverse = q._unbroadcasted_cov_diag.reciprocal()
    scaled = q._unbroadcasted_cov_factor.mT * inverse.unsqueeze(-2)
    solved = torch.linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)
    total = (factor.pow(2) * inverse.unsqueeze(-1)).sum((-2, -1))
    total = total - solved.matmul(factor).pow(2).sum((-2, -1))
    if diagonal is not None:
        total = total + (diagonal * inverse).sum(-1)
        total = total - (solved.pow(2) * diagonal.unsqueeze(-2)).sum((-2, -1))
    return total


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_and_low_rank(p, q):
    mine = p._unbroadcasted_scale_tril
    return _gaussian(
        p, q, lambda: q._log_det() - 2 * _log_diagonal(mine),
        lambda: _trace_with_low_rank(q, None, mine), lambda: q._distance(q.loc - p.loc),
    )  # fmt: skip


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p, q):
    return _gaussian(
        p, q, lambda: q._log_det() - p._log_det(),
        lambda: _trace_with_low_rank(q, p._unbroadcasted_cov_diag, p._unbroadcasted_cov_factor),
        lambda: q._distance(q.loc - p.loc),
    )  # fmt: skip


# ---- Across families: moments of p


def _x_log_x(x):
    return torch.special.xlogy(x, x)


class _Moments:
    """E[x], E[x^2], E[log x], E[log(1-x)] and E[exp(-x/s)] of one family."""

    def __init__(self, mean=None, square=None, log=None, log_rest=None, laplace=None):
        self.mean, self.square, self.log = mean, square, log
        self.log_rest, self.laplace = log_rest, laplace


def _moments_beta(p):
    a, b = p.concentration1, p.concentration0
    total = torch.digamma(a + b)
    square = p.variance + p.mean.pow(2)
    return _Moments(p.mean, square, torch.digamma(a) - total, torch.digamma(b) - total)


def _moments_gamma(p):
    a, rate = p.concentration, p.rate
    return _Moments(
        a / rate, (a + a.pow(2)) / rate.pow(2), torch.digamma(a) - rate.log(),
        laplace=lambda s: (1 + 1 / (rate * s)).pow(-a),
    )  # fmt: skip


def _moments_exponential(p):
    rate = p.rate
    return _Moments(
        1 / rate, 2 / rate.pow(2), -euler_constant - rate.log(),
        laplace=lambda s: rate * s / (rate * s + 1),
    )  # fmt: skip


def _moments_normal(p):
    square = p.loc.pow(2) + p.scale.pow(2)
    return _Moments(
        p.loc, square, laplace=lambda s: torch.exp(-p.loc / s + 0.5 * (p.scale / s).pow(2))
    )


def _moments_by_variance(p):
    return _Moments(p.mean, p.variance + p.mean.pow(2))


def _moments_pareto(p):
    a, scale = p.alpha, p.scale
    mean = (a * scale / (a - 1)).masked_fill(a <= 1, _inf)
    square = (a * scale.pow(2) / (a - 2)).masked_fill(a <= 2, _inf)
    return _Moments(mean, square, scale.log() + 1 / a)


def _moments_uniform(p):
    width = p.high - p.low

    def mean_log(high, low):
        return (_x_log_x(high) - _x_log_x(low)) / width - 1

    square = (p.high.pow(2) + p.high * p.low + p.low.pow(2)) / 3
    return _Moments(
        p.mean, square, mean_log(p.high, p.low), mean_log(1 - p.low, 1 - p.high),
        lambda s: s / width * (torch.exp(-p.low / s) - torch.exp(-p.high / s)),
    )  # fmt: skip


_MOMENTS = {
    Beta: _moments_beta, ContinuousBernoulli: _moments_by_variance,
    Exponential: _moments_exponential, Gamma: _moments_gamma, Gumbel: _moments_by_variance,
    Laplace: _moments_by_variance, Normal: _moments_normal, Pareto: _moments_pareto,
    Uniform: _moments_uniform,
}  # fmt: skip


# ---- and E_p[log q] from them


def _under_exponential(m, q):
    return q.rate.log() - q.rate * m.mean


def _under_gamma(m, q):
    a = q.concentration
    return a * q.rate.log() - a.lgamma() + (a - 1) * m.log - q.rate * m.mean


def _under_normal(m, q):
    spread = (m.square - 2 * q.loc * m.mean + q.loc.pow(2)) / (2 * q.scale.pow(2))
    return -q.scale.log() - 0.5 * math.log(2 * math.pi) - spread


def _under_beta(m, q):
    a, b = q.concentration1, q.concentration0
    norm = (a + b).lgamma() - a.lgamma() - b.lgamma()
    return norm + (a - 1) * m.log + (b - 1) * m.log_rest


def _under_continuous_bernoulli(m, q):
    return m.mean * q.logits + torch.log1p(-q.probs) + q._cont_bern_log_norm()


def _under_gumbel(m, q):
    tail = torch.exp(q.loc / q.scale) * m.laplace(q.scale)
    return -q.scale.log() - (m.mean - q.loc) / q.scale - tail


def _under_uniform(m, q):
    return -(q.high - q.low).log() + 0 * m.mean


def _under_pareto(m, q):
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * m.log


_UNDER = {
    Beta: _under_beta, ContinuousBernoulli: _under_continuous_bernoulli,
    Exponential: _under_exponential, Gamma: _under_gamma, Gumbel: _under_gumbel,
    Normal: _under_normal, Pareto: _under_pareto, Uniform: _under_uniform,
}  # fmt: skip


def _outside(p, q):
    """Where p, which lies in an interval, leaves the interval of q."""
    low, high = p.support.lower_bound, p.support.upper_bound
    if type(p) is ContinuousBernoulli and type(q) is Uniform:
        return (q.low >= low) | (q.high <= high)  # as PyTorch has it: only wider intervals
    if type(p) is Uniform and type(q) is ContinuousBernoulli:
        return (high >= q.support.upper_bound) | (low <= q.support.lower_bound)
    if type(q) is Pareto:
        return low < q.scale
    outside = low < q.support.lower_bound
    upper = getattr(q.support, "upper_bound", None)
    return outside if upper is None else outside | (high > upper)


def _cross(p_kind, q_kind, bounded: bool):
    def divergence(p, q):
        value = -p.entropy() - _UNDER[q_kind](_MOMENTS[p_kind](p), q)
        if not bounded:
            return value
        outside = torch.as_tensor(_outside(p, q))
        return torch.where(outside, torch.full_like(value, _inf), value)

    return divergence


def _infinite(p, q):
    return torch.full(p.batch_shape, _inf, dtype=p.mean.dtype, device=p.mean.device)


# Which of the pairs are finite; the others among these families are infinite for every value.
_FINITE = {
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Uniform),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel,),
    Pareto: (Exponential, Gamma, Normal),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}
_INFINITE = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
for _p, _others in _FINITE.items():
    for _q in _others:
        _bounded = _p in (Beta, ContinuousBernoulli, Uniform) and _q not in (Normal, Gumbel)
        register_kl(_p, _q)(_cross(_p, _q, _bounded))
for _p, _others in _INFINITE.items():
    for _q in _others:
        register_kl(_p, _q)(_infinite)


@register_kl(Normal, Laplace)
def _normal_and_laplace(p, q):
    offset = p.loc - q.loc
    scaled = offset / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * scaled.pow(2))
    far = offset * torch.erf(math.sqrt(0.5) * scaled)
    ratio = torch.log(p.scale / q.scale)
    return -ratio + (near + far) / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Bernoulli, Poisson)
def _bernoulli_and_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)
