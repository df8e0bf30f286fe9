"""Distribution: the base of all families, with its checks; and how parameters are kept."""

from __future__ import annotations

import warnings
from numbers import Number

import rushlight as torch

from . import constraints
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Distribution", "ExponentialFamily"]


def _all_true(valid) -> bool:
    """Whether ``valid`` holds everywhere: in vmap, for all samples."""
    while (below := torch._C._wrapper(valid)) is not None:
        valid = below[3]
    return bool(valid.all())


class Distribution:
    """Batches of independent distributions over events.

    Args:
        batch_shape: shape of the batch.
        event_shape: shape of one event.
        validate_args: check parameters and values; None takes the class's default.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked unless a distribution says otherwise."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        try:
            regions = self.arg_constraints
        except NotImplementedError:
            regions = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. "
                "Please set `arg_constraints = {}` or initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
        for name, region in regions.items():
            if constraints.is_dependent(region):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # computed from a parameter that is checked
            value = getattr(self, name)
            if not _all_true(region.check(value)):
                raise ValueError(
                    f"Expected parameter {name} "
                    f"({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} to satisfy the constraint {region!r}, "
                    f"but found invalid values:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """The same distribution with an expanded batch."""
        raise NotImplementedError

    @property
    def batch_shape(self):
        """Shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self):
        """Shape of one event."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """From names of parameters to their regions."""
        raise NotImplementedError

    @property
    def support(self):
        """The region of values."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The most probable value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=torch.Size()):
        """Samples without gradients, of shape sample + batch + event."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        """Samples whose gradients reach the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int):
        """``sample((n,))``, deprecated."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density or probability of ``value``."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of values up to ``value``."""
        raise NotImplementedError

    def icdf(self, value):
        """The value up to which the probability is ``value``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True):
        """All values of a discrete distribution, along dimension 0."""
        raise NotImplementedError

    def entropy(self):
        """The entropy in nats."""
        raise NotImplementedError

    def perplexity(self):
        """exp of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=torch.Size()):
        return torch.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value) -> None:
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, wanted = value.size(), self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{shape} vs {self._event_shape}."
            )
        for i, j in zip(reversed(shape), reversed(wanted), strict=False):
            if i not in (1, j) and j != 1:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{shape} vs {wanted}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable "
                "sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not _all_true(support.check(value)):
            raise ValueError(
                "Expected value argument "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) "
                f"of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    def _checked(self, value) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method."
            )
        return self.__new__(type(self))

    def __repr__(self) -> str:
        own = self.__dict__
        shown = [
            f"{name}: {own[name] if own[name].numel() == 1 else own[name].size()}"
            for name in self.arg_constraints
            if name in own
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


class Parametric(Distribution):
    """A family whose parameters are tensors of the batch's shape, named in ``_tensor_names``."""

    _tensor_names: tuple = ()
    _lasting: tuple = ()  # attributes that expanding leaves alone

    def _set_parameters(self, validate_args, *values) -> None:
        tensors = broadcast_all(*values)
        for name, tensor in zip(self._tensor_names, tensors, strict=True):
            setattr(self, name, tensor)
        self._derive()
        scalar = all(isinstance(v, Number) for v in values)
        Distribution.__init__(
            self, torch.Size() if scalar else tensors[0].size(), validate_args=validate_args
        )

    def _derive(self) -> None:
        """Sets what follows from the parameters."""

    def _owner(self) -> type:
        package = __package__
        return next(c for c in type(self).__mro__ if c.__module__.startswith(package))

    def expand(self, batch_shape, _instance=None):
        """The same distribution with an expanded batch."""
        new = self._get_checked_instance(self._owner(), _instance)
        batch_shape = torch.Size(batch_shape)
        for name in self._tensor_names:
            if name in self.__dict__:
                value = self.__dict__[name]
                own = value.shape[len(self._batch_shape) :]
                setattr(new, name, value.expand(batch_shape + own))
        for name in self._lasting:
            setattr(new, name, getattr(self, name))
        new._derive()
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new


class ProbsOrLogits(Parametric):
    """A family given by probabilities or by log odds (or log probabilities)."""

    _tensor_names = ("probs", "logits")
    _binary = True

    def _set_either(self, probs, logits, validate_args=None, others: tuple = ()) -> None:
        """Keeps the one that is given, broadcast with ``others`` (names and values)."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given = "logits" if probs is None else "probs"
        names = [name for name, _ in others]
        values = [*(value for _, value in others), logits if probs is None else probs]
        tensors = broadcast_all(*values)
        for name, tensor in zip([*names, given], tensors, strict=True):
            setattr(self, name, tensor)
        self._derive()
        scalar = not others and isinstance(values[-1], Number)
        shape = torch.Size() if scalar else tensors[-1].size()
        Distribution.__init__(self, shape, validate_args=validate_args)

    @property
    def _param(self):
        # Not `get`: it would compute the logits for nothing.
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits  # noqa: SIM401

    @property
    def param_shape(self):
        """Shape of the parameter."""
        return self._param.size()

    @lazy_property
    def logits(self):
        """Log odds, or log probabilities."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self):
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)


class ExponentialFamily(Distribution):
    """A family whose entropy follows from its natural parameters and log normalizer.

    Source: Nielsen and Nock, "Entropies and Cross-entropies of Exponential Families".
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self):
        """The entropy, by the gradient of the log normalizer."""
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        grads = torch.autograd.grad(normalizer.sum(), natural, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for parameter, grad in zip(natural, grads, strict=True):
            result = result - (parameter * grad).reshape((*self._batch_shape, -1)).sum(-1)
        return result
