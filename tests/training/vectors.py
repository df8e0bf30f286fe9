"""Programs about distributions of vectors and matrices; recorded from PyTorch."""

from __future__ import annotations

from .families import _names, _rounded, _shown

FAMILIES = """
MultivariateNormal(t(0.5, -1.0), cov)
MultivariateNormal(t(0.5, -1.0), precision_matrix=cov)
MultivariateNormal(t(0.5, -1.0).expand(3, 2), scale_tril=low)
LowRankMultivariateNormal(t(0.5, -1.0), t(0.3, 0.7).view(2, 1), t(1.0, 2.0))
LKJCholesky(3, t(0.5, 1.5).double())
Wishart(t(3.0), cov)
Wishart(4.5, scale_tril=low)
"""


def matrices(torch, show):
    for text in FAMILIES.strip().splitlines():
        names = _names(torch)
        names["low"] = torch.tensor([[1.0, 0.0], [0.3, 0.5]])
        names["cov"] = torch.tensor([[1.0, 0.3], [0.3, 0.5]])
        torch.manual_seed(4)
        d = eval(text, names)
        value = d.sample((2,))
        show(text, d, d.batch_shape, d.event_shape, _rounded(value), _rounded(d.log_prob(value)))
        for name in ("mean", "mode", "variance", "stddev", "scale_tril", "covariance_matrix",
                     "precision_matrix"):  # fmt: skip
            if hasattr(type(d), name):
                _shown(torch, show, name, lambda d=d, name=name: getattr(d, name))
        _shown(torch, show, "entropy", lambda d=d: d.entropy())
        wide = d.expand((4, *d.batch_shape))
        show(wide.batch_shape, _rounded(wide.log_prob(value[0])))


def divergences(torch, show):
    names = _names(torch)
    full = names["MultivariateNormal"]
    low = names["LowRankMultivariateNormal"]
    loc = torch.tensor([0.5, -1.0])
    cov = torch.tensor([[1.0, 0.3], [0.3, 0.5]])
    ps = [full(loc, cov), full(loc * 2, cov * 3), low(loc, loc.view(2, 1), loc.abs())]
    for p in ps:
        for q in ps:
            _shown(torch, show, "kl", lambda p=p, q=q: names["kl_divergence"](p, q))
    show.failure(
        lambda: names["kl_divergence"](ps[0], full(torch.zeros(3), torch.eye(3)))
    )


def checks(torch, show):
    names = _names(torch)
    full, eye = names["MultivariateNormal"], torch.eye(2)
    for call in (
        lambda: full(torch.tensor(0.0), eye),
        lambda: full(torch.zeros(2)),
        lambda: full(torch.zeros(2), eye, scale_tril=eye),
        lambda: full(torch.zeros(2), torch.zeros(2)),
        lambda: full(torch.zeros(2), scale_tril=torch.zeros(2)),
        lambda: full(torch.zeros(2), -eye),
        lambda: full(torch.zeros(2), torch.tensor([[1.0, 2.0], [0.0, 1.0]])),
        lambda: full(torch.zeros(2), eye).log_prob(torch.zeros(3)),
        lambda: names["LKJCholesky"](1),
        lambda: names["Wishart"](torch.tensor(0.5), eye),
        lambda: names["LowRankMultivariateNormal"](torch.zeros(2), torch.zeros(3, 1), eye[0]),
    ):
        show.failure(call)
