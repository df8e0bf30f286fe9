"""Clipping of gradients, by norm and by value."""

from __future__ import annotations

import rushlight as torch
from rushlight import _C

_total_norm = _C._ops_table["_total_norm"]
_scale_list_ = _C._ops_table["_scale_list_"]


def _tensors(tensors):
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The ``norm_type`` norm of all ``tensors`` taken as one vector."""
    tensors = _tensors(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    first = tensors[0].device
    if norm_type == 2.0 and not torch.is_grad_enabled():
        total = _total_norm(tensors)
    else:
        norms = [torch.linalg.vector_norm(t, norm_type).to(first) for t in tensors]
        total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    if error_if_nonfinite and torch.logical_or(total.isnan(), total.isinf()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale the gradients by ``max_norm / total_norm`` where that is below 1."""
    grads = [p.grad for p in _tensors(parameters) if p.grad is not None]
    max_norm = float(max_norm)
    if not grads:
        return
    # Clamped rather than tested: no value is read back.
    coefficient = torch.clamp(max_norm / (total_norm + 1e-6), max=1.0)
    with torch.no_grad():
        _scale_list_(grads, coefficient)


def clip_grad_norm_(
    parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None
):
    """Scale all gradients together so that their norm is at most ``max_norm``.

    Returns the norm before.
    """
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    else:
        from_generator = hasattr(parameters, "__next__")
        parameters = list(parameters)
        if from_generator and not parameters:
            import warnings

            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.",
                stacklevel=2,
            )
    with torch.no_grad():
        grads = [p.grad for p in parameters if p.grad is not None]
        total_norm = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
        clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(
    parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None
):
    """Deprecated name of :func:`clip_grad_norm_`."""
    import warnings

    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clip each gradient element to [-clip_value, clip_value]."""
    clip_value = float(clip_value)
    with torch.no_grad():
        for param in _tensors(parameters):
            if param.grad is not None:
                param.grad.clamp_(min=-clip_value, max=clip_value)
