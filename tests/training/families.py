"""Programs about torch.distributions; what they show is recorded from PyTorch."""

# ruff: noqa: B023, E501  (functions are called in the same turn; tables)

from __future__ import annotations

import importlib

FAMILIES = """
Normal(t(0.5, -1.0), t(1.0, 2.5)); Normal(0.0, 1.0); Normal(t(0.3), 2.0)
Laplace(t(0.5, -1.0), t(1.0, 2.5)); Cauchy(t(0.5, -1.0), t(1.0, 2.5))
Uniform(t(0.0, -1.0), t(1.0, 2.5)); Gumbel(t(0.5, -1.0), t(1.0, 2.5)); Gumbel(0.0, 1.0)
LogNormal(t(0.5, -0.2), t(0.4, 0.5)); HalfNormal(t(1.0, 2.5)); HalfCauchy(t(1.0, 2.5))
LogisticNormal(t(0.5, -0.2), t(0.4, 0.5)); VonMises(t(0.5, -1.0), t(1.0, 4.5))
GeneralizedPareto(t(0.0, 1.0), t(1.0, 2.0), t(0.25, -0.3)); Exponential(t(0.5, 2.0))
Gamma(t(0.5, 3.0), t(1.0, 2.0)); Chi2(t(3.0, 5.5)); InverseGamma(t(2.5, 3.0), t(1.0, 2.0))
Beta(t(0.5, 3.0), t(1.0, 2.0)); Beta(2, 3); Dirichlet(t(0.5, 3.0, 1.5)); FisherSnedecor(t(5.0, 8.0), t(9.0, 6.0))
StudentT(t(3.0, 5.5)); StudentT(t(1.5, 0.7), 2.0, 3.0); Weibull(t(1.0, 2.0), t(0.7, 3.0))
Pareto(t(1.0, 2.0), t(3.0, 4.5)); Kumaraswamy(t(1.5, 2.0), t(3.0, 1.2))
Bernoulli(t(0.3, 0.8)); Bernoulli(logits=t(0.3, -0.8)); Bernoulli(0.5); Geometric(t(0.3, 0.8))
Geometric(logits=t(0.3, -0.8)); Poisson(t(0.5, 4.0)); Binomial(5, t(0.3, 0.8))
Binomial(t(5.0, 3.0), logits=t(0.3, -0.8)); NegativeBinomial(4.0, t(0.3, 0.8))
NegativeBinomial(t(4.0, 2.0), logits=t(0.3, -0.8)); Categorical(t(0.3, 0.8, 1.2))
Categorical(logits=t(0.3, -0.8, 2.0).expand(2, 3)); OneHotCategorical(t(0.3, 0.8, 1.2))
OneHotCategoricalStraightThrough(logits=t(0.3, -0.8, 2.0)); Multinomial(6, t(0.3, 0.8, 1.2))
RelaxedBernoulli(t(0.7), t(0.3, 0.8)); RelaxedOneHotCategorical(t(0.7), logits=t(0.3, 0.8, 1.2))
ContinuousBernoulli(t(0.3, 0.8)); ContinuousBernoulli(logits=t(0.0004, -0.8))
Independent(Normal(t(0.5, -1.0), t(1.0, 2.5)), 1); Independent(Bernoulli(t(0.3, 0.8)), 0)
MixtureSameFamily(Categorical(t(0.3, 0.7)), Normal(t(0.5, -1.0), t(1.0, 2.5)))
MixtureSameFamily(Categorical(t(0.3, 0.7)), Independent(Normal(t(0.5, -1.0, 2.0, 1.0).view(2, 2), 1.0), 1))
TransformedDistribution(Normal(t(0.5, -1.0), 1.0), [AffineTransform(1.0, t(2.0, -3.0)), TanhTransform()])
TransformedDistribution(Uniform(t(0.0, 0.0), 1.0), [SigmoidTransform().inv, AffineTransform(0.5, 2.0)])
"""


def _families():
    return [c.strip() for line in FAMILIES.strip().splitlines() for c in line.split(";")]


def _names(torch, leaves=None):
    distributions = importlib.import_module(f"{torch.__name__}.distributions")

    def t(*values):
        made = torch.tensor(values if len(values) > 1 else values[0])
        if leaves is not None:
            leaves.append(made.requires_grad_())
        return made

    return vars(distributions) | {"t": t, "torch": torch}


def _rounded(value):
    if hasattr(value, "detach"):
        value = value.detach()
        return [str(value.dtype), list(value.shape), _rounded(value.flatten().tolist())]
    if isinstance(value, (list, tuple)):
        return [_rounded(v) for v in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def _shown(torch, show, label, call):
    try:
        show(label, _rounded(call()))
    except (NotImplementedError, ValueError, RuntimeError) as error:
        show(label, type(error).__name__, str(error).split("distributions.")[-1][:80])


def properties(torch, show):
    for text in _families():
        d = eval(text, _names(torch))
        show(text, d, d.batch_shape, d.event_shape, d.has_rsample, d.has_enumerate_support)
        show(getattr(d, "support", None), d.support.is_discrete, d.support.event_dim)
        for name in ("mean", "mode", "variance", "stddev"):
            _shown(torch, show, name, lambda d=d, name=name: getattr(d, name))
        _shown(torch, show, "entropy", lambda d=d: d.entropy())
        _shown(torch, show, "perplexity", lambda d=d: d.perplexity())


# Their distribution function needs torch.special.gammainc.
INCOMPLETE_GAMMA = ("Gamma", "Chi2", "InverseGamma")


def densities(torch, show):
    for text in _families():
        torch.manual_seed(1)
        leaves = []
        d = eval(text, _names(torch, leaves))
        value = d.sample((3,))
        show(text, _rounded(value), value.requires_grad)
        log_prob = d.log_prob(value)
        show(_rounded(log_prob))
        if log_prob.requires_grad and not text.startswith("Categorical(t("):
            grads = torch.autograd.grad(log_prob.sum(), leaves, allow_unused=True)
            show("gradients", [None if g is None else _rounded(g) for g in grads])
        if not text.startswith(INCOMPLETE_GAMMA):
            _shown(torch, show, "cdf", lambda d=d, value=value: d.cdf(value))
        inside = torch.tensor([[0.2], [0.7]])
        _shown(torch, show, "icdf", lambda d=d, inside=inside: d.icdf(inside))


# PyTorch approximates the gradients of their samples, to three digits.
ROUGH = ("Gamma", "Chi2", "InverseGamma", "Beta", "Dirichlet", "FisherSnedecor", "StudentT")


def samples_with_gradients(torch, show):
    _sample_gradients(torch, show, [f for f in _families() if not f.startswith(ROUGH)])


def samples_with_rough_gradients(torch, show):
    _sample_gradients(torch, show, [f for f in _families() if f.startswith(ROUGH)])


def _sample_gradients(torch, show, families):
    for text in families:
        torch.manual_seed(2)
        leaves = []
        d = eval(text, _names(torch, leaves))
        if not d.has_rsample:
            continue
        value = d.rsample((2,))
        show(text, _rounded(value), value.requires_grad)
        if value.requires_grad:
            weights = torch.arange(1.0, value.numel() + 1).view(value.shape)
            grads = torch.autograd.grad((value * weights).sum(), leaves, allow_unused=True)
            show([None if g is None else _rounded(g) for g in grads])


def expansion(torch, show):
    for text in _families():
        d = eval(text, _names(torch))
        _shown(torch, show, text, lambda d=d: list(d.expand((3, *d.batch_shape)).batch_shape))
        wide = d.expand((3, *d.batch_shape))
        torch.manual_seed(3)
        value = wide.sample()
        show(wide, _rounded(value), _rounded(wide.log_prob(value)))
        if d.has_enumerate_support:
            _shown(torch, show, "all", lambda d=d: d.enumerate_support())
            _shown(torch, show, "all", lambda d=d: d.enumerate_support(expand=False))


def checks(torch, show):
    names = _names(torch)
    for text in (
        "Normal(t(0.0), t(-1.0))", "Normal(t(float('nan')), 1.0)", "Bernoulli(t(1.5))",
        "Bernoulli()", "Bernoulli(0.5, 0.5)", "Categorical(t(0.3))", "Categorical(t(-1.0, 2.0))",
        "Categorical(logits=t(0.3))", "Uniform(t(1.0), t(0.0))", "Geometric(t(0.0))",
        "Normal('a', 1)", "Normal(t(0.0, 1.0), t(1.0, 2.0, 3.0))", "Dirichlet(t(1.0))",
        "Multinomial(t(3.0), t(0.5, 0.5))", "Normal(0.0, 1.0).log_prob(3)",
        "Normal(0.0, 1.0).log_prob(t(float('nan')))", "Bernoulli(0.5).log_prob(t(0.5))",
        "Categorical(t(0.5, 0.5)).log_prob(t(2.0))", "Normal(t(0.0, 1.0), 1.0).log_prob(t(1.0, 2.0, 3.0))",
        "Dirichlet(t(1.0, 2.0)).log_prob(t(1.0, 2.0, 3.0))", "Exponential(1.0).log_prob(t(-1.0))",
        "Dirichlet(t(1.0, 2.0)).log_prob(t(1.0, 2.0))", "Binomial(3, 0.5).log_prob(t(4.0))",
        "Normal(0.0, 1.0).enumerate_support()", "Bernoulli(0.5).rsample()", "Cauchy(0.0, 1.0).mean",
        "Independent(Normal(0.0, 1.0), 1)", "TransformedDistribution(Normal(0.0, 1.0), 3)",
        "TransformedDistribution(Normal(0.0, 1.0), [3])",
        "MixtureSameFamily(Normal(0.0, 1.0), Normal(t(0.0, 1.0), 1.0))",
        "MixtureSameFamily(Categorical(t(0.5, 0.5)), Normal(t(0.0, 1.0, 2.0), 1.0))",
        "Normal(0.0, -1.0, validate_args=False)", "Distribution.set_default_validate_args(3)",
        "Multinomial(3, t(0.5, 0.5)).log_prob(t(2.0, 2.0))", "Poisson(t(-1.0))",
        "OneHotCategorical(t(0.5, 0.5)).log_prob(t(1.0, 1.0))", "Distribution().sample()",
        "ContinuousBernoulli(t(1.5), validate_args=True)", "Binomial(t(1.5), t(0.5))",
        "Binomial(t(1.0, 2.0), 0.5).entropy()", "Normal(0.0, 1.0).support.check(t(1.0, float('nan')))",
    ):  # fmt: skip
        show(text)
        show.failure(lambda text=text: eval(text, names))

    class Shifted(names["Normal"]):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    show.failure(lambda: Shifted(torch.zeros(2)).expand((3, 2)))


PAIRS = """
Bernoulli(t(0.3, 1.0)) Bernoulli(t(0.8, 0.0)) Binomial(5,t(0.3,0.8)) Binomial(5,t(0.4,0.2))
Beta(t(0.5,3.0),t(1.0,2.0)) Beta(t(1.5,2.0),t(2.0,2.0)) Categorical(t(0.3,0.8)) Categorical(t(1.0,0.0))
Dirichlet(t(0.5,3.0)) Dirichlet(t(1.5,1.0)) Exponential(t(0.5,2.0)) Exponential(t(1.5,1.0))
Gamma(t(0.5,3.0),t(1.0,2.0)) Gamma(t(1.5,2.0),t(2.0,2.0)) Gumbel(t(0.5,3.0),t(1.0,2.0)) Gumbel(t(1.5,2.0),t(2.0,2.0))
Geometric(t(0.3,0.8)) Geometric(t(0.4,0.2)) HalfNormal(t(0.3,0.8)) HalfNormal(t(0.4,0.2))
Laplace(t(0.5,3.0),t(1.0,2.0)) Laplace(t(1.5,2.0),t(2.0,2.0)) Normal(t(0.5,3.0),t(1.0,2.0)) Normal(t(1.5,2.0),t(2.0,2.0))
OneHotCategorical(t(0.3,0.8)) OneHotCategorical(t(1.0,0.5)) Pareto(t(0.5,3.0),t(3.0,2.5)) Pareto(t(0.4,3.5),t(2.0,2.0))
Poisson(t(0.3,0.8)) Poisson(t(0.4,0.2)) Uniform(t(0.2,0.3),t(0.7,0.9)) Uniform(t(0.1,0.4),t(0.8,0.9))
Cauchy(t(0.5,3.0),t(1.0,2.0)) Cauchy(t(1.5,2.0),t(2.0,2.0)) ContinuousBernoulli(t(0.3,0.8)) ContinuousBernoulli(t(0.4,0.2))
LogNormal(t(0.5,3.0),t(1.0,2.0)) LogNormal(t(1.5,2.0),t(2.0,2.0)) Chi2(t(3.0,5.0)) Chi2(t(4.0,2.0))
Independent(Normal(t(0.5,3.0),1.0),1) Independent(Normal(t(1.5,2.0),2.0),1) VonMises(t(0.1),t(1.0)) VonMises(t(0.1),t(1.0))
"""
CROSS = """
Beta(t(0.5,3.0),t(1.0,2.0)) ContinuousBernoulli(t(0.3,0.8)) Exponential(t(0.5,2.0)) Gamma(t(0.5,3.0),t(1.0,2.0))
Gumbel(t(0.5,3.0),t(1.0,2.0)) Laplace(t(0.5,3.0),t(1.0,2.0)) Normal(t(0.5,3.0),t(1.0,2.0)) Pareto(t(0.5,3.0),t(3.0,2.5))
Uniform(t(0.2,0.3),t(0.7,0.9)) Uniform(t(0.0,-1.0),t(1.0,2.0)) Poisson(t(0.5,2.0)) Bernoulli(t(0.3,0.8))
"""


def divergences(torch, show):
    names = _names(torch)
    items = [x for line in PAIRS.strip().splitlines() for x in _split(line)]
    for a, b in zip(items[::2], items[1::2], strict=True):
        for left, right in ((a, b), (b, a)):
            p, q = eval(left, names), eval(right, names)
            _shown(torch, show, f"{left} || {right}", lambda p=p, q=q: names["kl_divergence"](p, q))
    mixed = [x for line in CROSS.strip().splitlines() for x in _split(line)]
    for left in mixed:
        for right in mixed:
            p, q = eval(left, names), eval(right, names)
            if type(p) is not type(q):
                _shown(torch, show, f"{left} || {right}",
                       lambda p=p, q=q: names["kl_divergence"](p, q))  # fmt: skip


def _split(line):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(line):
        depth += (c == "(") - (c == ")")
        if c == " " and depth == 0:
            parts.append(line[start:i])
            start = i + 1
    return [p for p in [*parts, line[start:]] if p]


TRANSFORMS = """
ExpTransform() AffineTransform(1.0, t(2.0, -3.0, 1.0)) AffineTransform(1.0, -2.0) SigmoidTransform()
TanhTransform() SoftplusTransform() PowerTransform(t(2.0)) AbsTransform() SoftmaxTransform()
StickBreakingTransform() CorrCholeskyTransform() ComposeTransform([ExpTransform(), AffineTransform(1, 2)])
IndependentTransform(ExpTransform(), 1) ReshapeTransform((3,), (3, 1)) AffineTransform(0.0, 2.0, event_dim=1)
CatTransform([ExpTransform(), TanhTransform()], -1, [2, 1]) ExpTransform().inv
StackTransform([ExpTransform(), TanhTransform(), SigmoidTransform()], -1) CumulativeDistributionTransform(Normal(0.0, 1.0))
identity_transform ComposeTransform([SigmoidTransform(), StickBreakingTransform()])
"""


def maps(torch, show):
    transforms = importlib.import_module(f"{torch.__name__}.distributions.transforms")
    names = _names(torch) | {n: getattr(transforms, n) for n in transforms.__all__}
    x = torch.tensor([[0.3, 0.7, 0.2], [0.5, 1.5, 0.9]])
    for text in [x for line in TRANSFORMS.strip().splitlines() for x in _split(line)]:
        transform = eval(text, names)
        y = transform(x)
        show(text, transform, transform.bijective, _rounded(y), _rounded(transform.inv(y)))
        show(transform.domain.event_dim, transform.codomain.event_dim)
        for label, call in (
            ("jacobian", lambda f=transform, y=y: f.log_abs_det_jacobian(x, y)),
            ("sign", lambda f=transform: f.sign),
            ("shapes", lambda f=transform, y=y: [list(f.forward_shape(x.shape)),
                                                 list(f.inverse_shape(y.shape))]),
            ("equal", lambda f=transform, text=text: f == eval(text, names)),
            ("cached", lambda f=transform: f.with_cache(1)._cache_size),
        ):  # fmt: skip
            _shown(torch, show, label, call)
    cached = names["TanhTransform"](cache_size=1)
    y = cached(x)
    show(cached.inv(y) is x, cached.inv.inv is cached)


def registries(torch, show):
    names = _names(torch)
    c = names["constraints"]
    x = torch.tensor([[0.3, 0.7, 0.2], [0.5, 1.5, 0.9]])
    for text in (
        "real", "positive", "nonnegative", "greater_than(2.0)", "greater_than_eq(1.0)",
        "less_than(1.0)", "unit_interval", "interval(-1.0, 2.0)", "half_open_interval(0.0, 3.0)",
        "simplex", "real_vector", "corr_cholesky", "boolean", "independent(positive, 1)",
        "cat([positive, real, real], -1)", "stack([positive, real, real], -1)", "lower_cholesky",
    ):  # fmt: skip
        region = eval(text, vars(c))
        for name in ("biject_to", "transform_to"):
            _shown(torch, show, f"{name} {text}",
                   lambda r=region, f=names[name]: f(r)(x if "lower" not in text else x[:, :2]))
    for text in (
        "real", "positive", "interval(0.0, 1.0)", "integer_interval(0, 2)", "simplex", "one_hot",
        "nonnegative_integer", "positive_integer", "boolean", "multinomial(3)", "square",
        "lower_triangular", "lower_cholesky", "symmetric", "corr_cholesky", "dependent",
        "independent(real, 1)", "less_than(1)", "cat([positive, real, boolean], 1)",
        "stack([positive, real, boolean], 1)", "half_open_interval(0, 1)",
    ):  # fmt: skip
        region = eval(text, vars(c))
        show(text, region if text != "dependent" else "")
        value = torch.tensor([[0.0, 1.0, 0.0], [0.2, 0.3, 0.5], [1.0, 2.0, -1.0]])
        _shown(torch, show, text, lambda r=region, value=value: r.check(value))
