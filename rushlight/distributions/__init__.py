"""Probability distributions: samples, densities, gradients through both."""

# ruff: noqa: F401  (names are imported to be found here)

from __future__ import annotations

import sys

from . import (
    combined,
    constraints,
    discrete,
    distribution,
    gamma_families,
    kl,
    location_scale,
    matrix,
    relaxed,
    transforms,
    utils,
)
from .combined import *  # noqa: F403
from .constraint_registry import biject_to, transform_to
from .discrete import *  # noqa: F403
from .distribution import Distribution, ExponentialFamily
from .gamma_families import *  # noqa: F403
from .kl import kl_divergence, register_kl
from .location_scale import *  # noqa: F403
from .matrix import *  # noqa: F403
from .relaxed import *  # noqa: F403
from .transforms import *  # noqa: F403

__all__ = sorted(  # noqa: PLE0605
    {
        "Distribution", "ExponentialFamily", "biject_to", "constraints", "kl_divergence",
        "register_kl", "transform_to",
        *combined.__all__, *discrete.__all__, *gamma_families.__all__, *location_scale.__all__,
        *matrix.__all__, *relaxed.__all__, *transforms.__all__,
    }
    - {"Transform", "ExpRelaxedCategorical", "LogitRelaxedBernoulli"}
)  # fmt: skip

# PyTorch has a module per family: the same names lead to the files here.
_MODULES = {
    combined: "independent mixture_same_family transformed_distribution",
    discrete: "bernoulli binomial categorical geometric multinomial negative_binomial "
    "one_hot_categorical poisson",
    distribution: "exp_family",
    gamma_families: "beta chi2 dirichlet exponential fishersnedecor gamma inverse_gamma "
    "kumaraswamy pareto studentT weibull",
    location_scale: "cauchy generalized_pareto gumbel half_cauchy half_normal laplace log_normal "
    "logistic_normal normal uniform von_mises",
    matrix: "lkj_cholesky lowrank_multivariate_normal multivariate_normal wishart",
    relaxed: "continuous_bernoulli relaxed_bernoulli relaxed_categorical",
}
_FAMILIES_OF = {"ExpRelaxedCategorical": "relaxed_categorical",
                "RelaxedOneHotCategorical": "relaxed_categorical",
                "LogitRelaxedBernoulli": "relaxed_bernoulli",
                "OneHotCategoricalStraightThrough": "one_hot_categorical",
                "ExponentialFamily": "exp_family"}  # fmt: skip


def _give_module_names() -> None:
    for module, names in _MODULES.items():
        homes = {name.replace("_", "").lower(): name for name in names.split()}
        for name in homes.values():
            sys.modules[f"{__name__}.{name}"] = globals()[name] = module
        for name in module.__all__:
            home = _FAMILIES_OF.get(name, homes.get(name.lower()))
            if home is not None:
                getattr(module, name).__module__ = f"{__name__}.{home}"


_give_module_names()
