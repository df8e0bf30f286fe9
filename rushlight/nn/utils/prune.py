"""Pruning: parameters masked by a forward hook, the masks chosen by a method."""

from __future__ import annotations

import numbers
from collections.abc import Iterable

import rushlight as torch


class BasePruningMethod:
    """A hook that sets ``name = name_orig * name_mask`` before each call.

    Subclasses define ``compute_mask`` and PRUNING_TYPE: unstructured, structured or global.
    """

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t, default_mask):
        """The mask for ``t``, given the mask so far; subclasses define it."""
        raise NotImplementedError

    def apply_mask(self, module):
        """The pruned tensor: the original times the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def _with_earlier(cls, module, name, *args, **kwargs):
        """This method, in a container with the earlier ones on the same tensor, if any."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = [
            (k, hook)
            for k, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module "
                f"{module}. Use a PruningContainer."
            )
        if not earlier:
            return method
        k, hook = earlier[0]
        del module._forward_pre_hooks[k]
        if not isinstance(hook, PruningContainer):
            container = PruningContainer(hook)
            container._tensor_name = name
            hook = container
        hook.add_pruning_method(method)
        return hook

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune the tensor ``name`` of ``module`` by this method."""
        method = cls._with_earlier(module, name, *args, **kwargs)
        orig = getattr(module, name)
        if importance_scores is None:
            importance_scores = orig
        elif importance_scores.shape != orig.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {importance_scores.shape} vs {orig.shape}"
            )
        if not isinstance(method, PruningContainer):
            module.register_parameter(name + "_orig", orig)
            del module._parameters[name]
            default_mask = torch.ones_like(orig)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(importance_scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not isinstance(method, PruningContainer):
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """The tensor ``t`` masked by this method, without touching a module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, got "
                f"{importance_scores.shape} vs {t.shape}"
            )
        if default_mask is None:
            default_mask = torch.ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module):
        """Make the pruned tensor an ordinary parameter."""
        if self._tensor_name is None:
            raise AssertionError(
                f"Module {module} has to be pruned before pruning can be removed"
            )
        weight = self.apply_mask(module)
        if hasattr(module, self._tensor_name):
            delattr(module, self._tensor_name)
        orig = module._parameters.pop(self._tensor_name + "_orig")
        orig.data = weight.data
        del module._buffers[self._tensor_name + "_mask"]
        setattr(module, self._tensor_name, orig)


class PruningContainer(BasePruningMethod):
    """Several pruning methods on one tensor, each masking what the others left."""

    def __init__(self, *args):
        self._pruning_methods = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
        methods = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add ``method``, which must act on the same tensor."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """The default mask and the latest method's, computed on what is left, combined."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            kept = mask == 1
        elif kind == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute '
                    "`dim` defined."
                )
            dims = t.dim()
            dim = method.dim if method.dim >= 0 else dims + method.dim
            if not 0 <= dim < dims:
                raise IndexError(f"Index is out of bounds for tensor with dimensions {dims}")
            others = [d for d in range(dims) if d != dim]
            channels = mask.sum(dim=others) != 0
            kept = (slice(None),) * dim + (channels,)
        elif kind == "global":
            kept = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        mask[kept] = method.compute_mask(t[kept], default_mask=mask[kept])
        return mask.to(dtype=default_mask.dtype)


class Identity(BasePruningMethod):
    """Prunes nothing, but registers the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        """The default mask."""
        return default_mask


class _Amount(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size):
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        return count


class RandomUnstructured(_Amount):
    """Prunes ``amount`` (a count or a fraction) of the elements, at random."""

    def compute_mask(self, t, default_mask):
        """The default mask with random elements zeroed."""
        count = self._count(t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if count != 0:
            chosen = torch.topk(torch.rand_like(t).view(-1), k=count)
            mask.view(-1)[chosen.indices] = 0
        return mask


class L1Unstructured(_Amount):
    """Prunes ``amount`` of the elements, those of the smallest magnitude."""

    def compute_mask(self, t, default_mask):
        """The default mask with the smallest elements zeroed."""
        count = self._count(t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if count != 0:
            chosen = torch.topk(torch.abs(t).view(-1), k=count, largest=False)
            mask.view(-1)[chosen.indices] = 0
        return mask


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def _sizes(self, t):
        if len(t.shape) <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {len(t.shape)} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        return t.shape[self.dim], self._count(t.shape[self.dim])

    def _channels(self, t, kept):
        mask = torch.zeros_like(t)
        index = [slice(None)] * t.dim()
        index[self.dim] = kept
        mask[tuple(index)] = 1
        return mask


class RandomStructured(_Structured):
    """Prunes ``amount`` of the channels along ``dim``, at random."""

    def compute_mask(self, t, default_mask):
        """The default mask with random channels zeroed."""
        channels, count = self._sizes(t)
        if count == 0:
            return default_mask
        chances = torch.rand(channels)
        kept = chances > torch.kthvalue(chances, k=count).values
        mask = self._channels(t, kept) * default_mask.to(dtype=t.dtype)
        return mask.to(dtype=default_mask.dtype)


class LnStructured(_Structured):
    """Prunes ``amount`` of the channels along ``dim``, those of the smallest n-norm."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t, default_mask):
        """The default mask with the channels of smallest norm zeroed."""
        channels, count = self._sizes(t)
        if count == 0:
            return default_mask
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = torch.norm(t, p=self.n, dim=others)
        kept = torch.topk(norms, k=channels - count, largest=True).indices
        mask = self._channels(t, kept) * default_mask.to(dtype=t.dtype)
        return mask.to(dtype=default_mask.dtype)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        """The default mask times the one given."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module, name):
    """Register a mask of ones for the tensor ``name``."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune ``amount`` of the elements of ``name`` at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune ``amount`` of the elements of ``name``, the smallest."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune ``amount`` of the channels of ``name`` along ``dim`` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune ``amount`` of the channels of ``name`` along ``dim``, of the smallest n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune ``name`` by ``mask``."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune (module, name) pairs together: elements compete across all of them."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    values = [getattr(module, name) for module, name in parameters]
    scores = torch.nn.utils.parameters_to_vector(
        [importance_scores.get(key, v) for key, v in zip(parameters, values, strict=True)]
    )
    masks = torch.nn.utils.parameters_to_vector(
        [
            getattr(module, name + "_mask", torch.ones_like(value))
            for (module, name), value in zip(parameters, values, strict=True)
        ]
    )
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    final = container.compute_mask(scores, masks)
    position = 0
    for (module, name), value in zip(parameters, values, strict=True):
        count = value.numel()
        custom_from_mask(module, name, mask=final[position : position + count].view_as(value))
        position += count


def remove(module, name):
    """Make the pruned tensor ``name`` an ordinary parameter."""
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module):
    """Whether a tensor of ``module`` or of a module below it is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for _, submodule in module.named_modules()
        for hook in submodule._forward_pre_hooks.values()
    )


def _validate_pruning_amount_init(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (
        not isinstance(amount, numbers.Integral) and not 0.0 <= float(amount) <= 1.0
    ):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _validate_pruning_amount(amount, tensor_size):
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}"
        )


def _compute_nparams_toprune(amount, tensor_size):
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)
