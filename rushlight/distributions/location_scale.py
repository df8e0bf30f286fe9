"""Continuous families with a location and a scale, and those made of them."""

from __future__ import annotations

import math

import rushlight as torch

from . import constraints
from .combined import TransformedDistribution
from .distribution import Distribution, ExponentialFamily, Parametric
from .transforms import AbsTransform, AffineTransform, ExpTransform
from .utils import _standard_normal, broadcast_all, euler_constant, lazy_property

__all__ = [
    "Cauchy", "GeneralizedPareto", "Gumbel", "HalfCauchy", "HalfNormal", "Laplace", "LogNormal",
    "LogisticNormal", "Normal", "Uniform", "VonMises",
]  # fmt: skip

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
_nan, _inf = math.nan, math.inf


class _LocationScale(Parametric):
    _tensor_names = ("loc", "scale")
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self._set_parameters(validate_args, loc, scale)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution."""

    _mean_carrier_measure = 0
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def sample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        return self.loc + _standard_normal(shape, self.loc.dtype, self.loc.device) * self.scale

    def log_prob(self, value):
        self._checked(value)
        scale = self.scale
        return -((value - self.loc) ** 2) / (2 * scale**2) - scale.log() - _HALF_LOG_TAU

    def cdf(self, value):
        self._checked(value)
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + _HALF_LOG_TAU + torch.log(self.scale)

    @property
    def _natural_params(self):
        variance = self.scale.pow(2)
        return self.loc / variance, -0.5 * variance.reciprocal()

    def _log_normalizer(self, x, y):
        return -0.25 * x.pow(2) / y + 0.5 * torch.log(-math.pi / y)


class Laplace(_LocationScale):
    """The Laplace distribution."""

    stddev = property(lambda self: 2**0.5 * self.scale)
    variance = property(lambda self: 2 * self.scale.pow(2))

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        limits = torch.finfo(self.loc.dtype)
        u = self.loc.new(shape).uniform_(limits.eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs().clamp(max=1 - limits.tiny))

    def log_prob(self, value):
        self._checked(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value):
        self._checked(value)
        offset = value - self.loc
        return 0.5 - 0.5 * offset.sign() * torch.expm1(-offset.abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + torch.log(2 * self.scale)


class Cauchy(_LocationScale):
    """The Cauchy distribution, which has no mean."""

    @property
    def mean(self):
        return torch.full(
            self._extended_shape(), _nan, dtype=self.loc.dtype, device=self.loc.device
        )

    @property
    def variance(self):
        return torch.full(
            self._extended_shape(), _inf, dtype=self.loc.dtype, device=self.loc.device
        )

    def rsample(self, sample_shape=torch.Size()):
        return self.loc + self.loc.new(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value):
        self._checked(value)
        offset = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (offset**2).log1p()

    def cdf(self, value):
        self._checked(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Parametric):
    """The uniform distribution over [low, high)."""

    _tensor_names = ("low", "high")
    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self._set_parameters(validate_args, low, high)

    @property
    def arg_constraints(self):
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: _nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        rand = torch.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + rand * (self.high - self.low)

    def log_prob(self, value):
        self._checked(value)
        inside = self.low.le(value) & self.high.gt(value)
        return torch.log(inside.type_as(self.low)) - torch.log(self.high - self.low)

    def cdf(self, value):
        self._checked(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return torch.log(self.high - self.low)


class Gumbel(TransformedDistribution):
    """The Gumbel distribution of maxima."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = torch.finfo(self.loc.dtype)
        ends = limits.tiny, 1 - limits.eps
        if isinstance(loc, torch.Tensor) or isinstance(scale, torch.Tensor):
            ends = tuple(torch.full_like(self.loc, end) for end in ends)
        turn = AffineTransform(loc=0, scale=-torch.ones_like(self.scale))
        last = AffineTransform(loc=loc, scale=-self.scale)
        super().__init__(
            Uniform(*ends, validate_args=validate_args),
            [ExpTransform().inv, turn, ExpTransform().inv, last],
            validate_args=validate_args,
        )

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc = self.loc.expand(batch_shape)
        new.scale = self.scale.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def log_prob(self, value):
        self._checked(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)


class LogNormal(TransformedDistribution):
    """exp of a normal variable."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LogNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = property(lambda self: (self.loc - self.scale.square()).exp())

    @property
    def variance(self):
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class _Half(TransformedDistribution):
    """The absolute value of a symmetric variable around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _whole: type

    def __init__(self, scale, validate_args=None):
        base = self._whole(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        kind = HalfNormal if self._whole is Normal else HalfCauchy
        new = self._get_checked_instance(kind, _instance)
        return super().expand(batch_shape, _instance=new)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: torch.zeros_like(self.scale))

    def log_prob(self, value):
        self._checked(value)
        value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -_inf)

    def cdf(self, value):
        self._checked(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """|x| for x normal around 0."""

    _whole = Normal
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """|x| for x Cauchy around 0."""

    _whole = Cauchy
    variance = property(lambda self: self.base_dist.variance)

    @property
    def mean(self):
        return torch.full(
            self._extended_shape(), _inf, dtype=self.scale.dtype, device=self.scale.device
        )


class LogisticNormal(TransformedDistribution):
    """Points of the simplex, by stick breaking of normal vectors."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        from .transforms import StickBreakingTransform

        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LogisticNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)


class GeneralizedPareto(Parametric):
    """What exceeds a threshold; at concentration 0, exponential.

    Source: Hosking and Wallis, "Parameter and Quantile Estimation for the Generalized Pareto
    Distribution".
    """

    _tensor_names = ("loc", "scale", "concentration")
    arg_constraints = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self._set_parameters(validate_args, loc, scale, concentration)

    def _derive(self):
        self._exponential = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        # Never 0, lest the branch that is not taken give NaN gradients.
        self._safe = torch.where(
            self._exponential, torch.ones_like(self.concentration), self.concentration
        )

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _z(self, x):
        return (x - self.loc) / self.scale

    def log_prob(self, value):
        self._checked(value)
        z = self._z(value)
        y = 1 / self._safe + torch.ones_like(z)
        curved = torch.where(y == 0, y, y * torch.log1p(self._safe * z))
        return -self.scale.log() - torch.where(self._exponential, z, curved)

    def log_survival_function(self, value):
        """log P(x > value)."""
        self._checked(value)
        z = self._z(value)
        return torch.where(self._exponential, -z, -torch.log1p(self._safe * z) / self._safe)

    def log_cdf(self, value):
        """log P(x <= value)."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        log_rest = torch.log1p(-value)
        curved = self.loc + self.scale / self._safe * torch.expm1(-self._safe * log_rest)
        return torch.where(self._exponential, self.loc - self.scale * log_rest, curved)

    @property
    def mean(self):
        exists = self.concentration < 1
        shape = torch.where(exists, self.concentration, 0.5)
        return torch.where(exists, self.loc + self.scale / (1 - shape), _nan)

    @property
    def variance(self):
        exists = self.concentration < 0.5
        shape = torch.where(exists, self.concentration, 0.25)
        value = self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape))
        return torch.where(exists, value, _nan)

    mode = property(lambda self: self.loc)

    def entropy(self):
        return (torch.log(self.scale) + self.concentration + 1).expand(self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, torch.where(self.concentration < 0, end, _inf))


# Polynomials in (x / 3.75)^2 and 3.75 / x: Abramowitz and Stegun, 9.8.1 to 9.8.4.
_BESSEL_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
_BESSEL_LARGE = (
    (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537,
     -0.01647633, 0.00392377),
    (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312,
     0.01787654, -0.00420059),
)  # fmt: skip


def _polynomial(x, coefficients):
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = coefficient + x * total
    return total


def _log_bessel(x, order: int):
    """log of the modified Bessel function I of order 0 or 1."""
    small = _polynomial((x / 3.75) * (x / 3.75), _BESSEL_SMALL[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _BESSEL_LARGE[order]).log()
    return torch.where(x < 3.75, small.log(), large)


class VonMises(Parametric):
    """Angles around ``loc``.

    Source of the sampler: Best and Fisher, "Efficient Simulation of the von Mises Distribution".
    """

    _tensor_names = ("loc", "concentration")
    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        Distribution.__init__(self, self.loc.shape, torch.Size(), validate_args)

    def log_prob(self, value):
        self._checked(value)
        around = self.concentration * torch.cos(value - self.loc)
        return around - math.log(2 * math.pi) - _log_bessel(self.concentration, 0)

    @lazy_property
    def _proposal_r(self):
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    @torch.no_grad()
    def sample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        loc, kappa, r = self.loc.double(), self.concentration.double(), self._proposal_r
        x = torch.empty(shape, dtype=loc.dtype, device=loc.device)
        done = torch.zeros(shape, dtype=torch.bool, device=loc.device)
        while not done.all():
            u1, u2, u3 = torch.rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
            z = torch.cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
            if accept.any():
                x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self):
        """The circular variance."""
        kappa = self.concentration
        return 1 - (_log_bessel(kappa, 1) - _log_bessel(kappa, 0)).exp()
