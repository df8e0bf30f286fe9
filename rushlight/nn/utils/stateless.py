"""Calling a module with other parameters and buffers than its own."""

from __future__ import annotations

import contextlib

import rushlight as torch

_ABSENT = object()    # where there was no attribute


def _owner(module, path):
    """The module that ``path`` leads to, and the attribute's name."""
    *submodules, name = path.split(".")
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    so_far = []
    for part in submodules:
        so_far.append(part)
        if not hasattr(module, part):
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
        module = getattr(module, part)
        if not isinstance(module, torch.nn.Module):
            raise TypeError(
                f"submodule `{'.'.join(so_far)}`: {module} is not an instance of torch.nn.Module"
            )
    return module, name


def _swap(owner, name, value):
    """Put a tensor in the place of a parameter, buffer or attribute; return what was there."""
    if not (value is None or isinstance(value, torch.Tensor)):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    for registry in (owner._parameters, owner._buffers):
        if name in registry:
            old = registry[name]
            registry[name] = value
            return old
    old = getattr(owner, name, _ABSENT)
    if not (old is None or old is _ABSENT or isinstance(old, torch.Tensor)):
        raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
    setattr(owner, name, value)  # a parametrized weight's setter takes it
    return old


def _put_back(owner, name, old):
    if old is _ABSENT:
        delattr(owner, name)
    else:
        _swap(owner, name, old)


def _tied(module, tensors):
    """``tensors`` extended by the other names under which the same tensors are registered."""
    names_of = {}
    for named in (module.named_parameters, module.named_buffers):
        for name, tensor in named(remove_duplicate=False):
            names_of.setdefault(id(tensor), set()).add(name)
    result = dict(tensors)
    for names in names_of.values():
        given = names & tensors.keys()
        if not given:
            continue
        values = [tensors[name] for name in sorted(given)]
        if any(value is not values[0] for value in values):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for name in names - given:
            result[name] = values[0]
    return result


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False):
    values = dict(parameters_and_buffers)
    if tie_weights:
        values = _tied(module, values)
    if strict:
        own = {n for n, _ in module.named_parameters(remove_duplicate=False)}
        own |= {n for n, _ in module.named_buffers(remove_duplicate=False)}
        errors = []
        unexpected = [key for key in values if key not in own]
        missing = [key for key in own if key not in values]
        if unexpected:
            errors.append(f"Unexpected key(s): {', '.join(map(repr, unexpected))}.")
        if missing:
            errors.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
        if errors:
            raise RuntimeError(
                "Error(s) in reparametrizing for {}:\n\t{}".format(
                    module._get_name(), "\n\t".join(errors)
                )
            )
    swapped = []
    try:
        for path, value in values.items():
            owner, name = _owner(module, path)
            swapped.append((owner, name, _swap(owner, name, value)))
        yield
    finally:
        for owner, name, old in reversed(swapped):
            _put_back(owner, name, old)


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Deprecated home of ``torch.func.functional_call``."""
    import warnings

    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Call ``module`` with its parameters and buffers replaced, for this call, by those given.

    ``tie_weights`` gives tensors that are shared in the module the same replacement.
    """
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(
        module, parameters_and_buffers, tie_weights=tie_weights, strict=strict
    ):
        return module(*args, **(kwargs or {}))
