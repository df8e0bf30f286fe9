"""Continuous families that stand for discrete ones."""

from __future__ import annotations

import math

import rushlight as torch
from rushlight.nn import functional as F

from . import constraints
from .combined import TransformedDistribution
from .discrete import BINARY, SEVERAL, Categorical, OfCategorical
from .distribution import Distribution, ExponentialFamily, ProbsOrLogits
from .transforms import ExpTransform, SigmoidTransform
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = [
    "ContinuousBernoulli", "ExpRelaxedCategorical", "LogitRelaxedBernoulli", "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
]  # fmt: skip


class LogitRelaxedBernoulli(ProbsOrLogits):
    """Log odds of a RelaxedBernoulli.

    Source: Maddison et al., "The Concrete Distribution".
    """

    arg_constraints = BINARY
    support = constraints.real
    _lasting = ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._set_either(probs, logits, validate_args)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class _Relaxed(TransformedDistribution):
    has_rsample = True
    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)


class RelaxedBernoulli(_Relaxed):
    """A Bernoulli made continuous by a temperature."""

    arg_constraints = BINARY
    support = constraints.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(RelaxedBernoulli, _instance)
        return super().expand(batch_shape, _instance=new)


class ExpRelaxedCategorical(OfCategorical):
    """The logarithm of a RelaxedOneHotCategorical.

    Source: Maddison et al., "The Concrete Distribution", and Jang et al., "Categorical
    Reparameterization with Gumbel-Softmax".
    """

    support = constraints.real_vector
    has_rsample = True
    _kept = ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        Distribution.__init__(self, shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        k = self._categorical._num_events
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        factor = torch.full_like(self.temperature, float(k)).lgamma()
        factor = factor - self.temperature.log().mul(-(k - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + factor


class RelaxedOneHotCategorical(_Relaxed):
    """A OneHotCategorical made continuous by a temperature."""

    arg_constraints = SEVERAL
    support = constraints.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(RelaxedOneHotCategorical, _instance)
        return super().expand(batch_shape, _instance=new)


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """A Bernoulli's likelihood normalised over [0, 1]; near 1/2, by its Taylor series.

    Source: Loaiza-Ganem and Cunningham, "The continuous Bernoulli".
    """

    arg_constraints = BINARY
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _lasting = ("_lims",)

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._lims = lims
        if probs is not None and logits is None:
            (given,) = broadcast_all(probs)
            if validate_args is not None and not constraints.unit_interval.check(given).all():
                raise ValueError("The parameter probs has invalid values")
        self._set_either(probs, logits, validate_args)

    def _derive(self):
        if "probs" in self.__dict__:
            self.probs = clamp_probs(self.probs)

    @lazy_property
    def probs(self):
        """Probabilities."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _far(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        return torch.where(self._far(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _near_half(self, exact, series):
        return torch.where(self._far(), exact, series)

    def _cont_bern_log_norm(self):
        p = self._cut_probs()
        below = torch.where(p <= 0.5, p, torch.zeros_like(p))
        above = torch.where(p >= 0.5, p, torch.ones_like(p))
        width = torch.where(p <= 0.5, torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0))
        exact = torch.log(torch.abs(torch.log1p(-p) - torch.log(p))) - width
        x = torch.pow(self.probs - 0.5, 2)
        return self._near_half(exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self):
        p = self._cut_probs()
        exact = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - torch.log(p))
        x = self.probs - 0.5
        return self._near_half(exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x)

    @property
    def variance(self):
        p = self._cut_probs()
        odds = torch.log1p(-p) - torch.log(p)
        exact = p * (p - 1.0) / torch.pow(1.0 - 2.0 * p, 2) + 1.0 / torch.pow(odds, 2)
        x = torch.pow(self.probs - 0.5, 2)
        return self._near_half(exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        cross = F.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -cross + self._cont_bern_log_norm()

    def cdf(self, value):
        self._checked(value)
        p = self._cut_probs()
        exact = torch.pow(p, value) * torch.pow(1.0 - p, 1.0 - value) + p - 1.0
        inside = self._near_half(exact / (2.0 * p - 1.0), value)
        inside = torch.where(value <= 0.0, torch.zeros_like(value), inside)
        return torch.where(value >= 1.0, torch.ones_like(value), inside)

    def icdf(self, value):
        p = self._cut_probs()
        exact = torch.log1p(-p + value * (2.0 * p - 1.0)) - torch.log1p(-p)
        return self._near_half(exact / (torch.log(p) - torch.log1p(-p)), value)

    def entropy(self):
        log_p, log_rest = torch.log(self.probs), torch.log1p(-self.probs)
        return self.mean * (log_rest - log_p) - self._cont_bern_log_norm() - log_rest

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        near = (x > self._lims[0] - 0.5) & (x <= self._lims[1] - 0.5)
        cut = torch.where(near, (self._lims[0] - 0.5) * torch.ones_like(x), x)
        exact = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        series = 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0
        return torch.where(near, series, exact)
