"""All parameters as one flat vector, and back."""

from __future__ import annotations

import rushlight as torch

from ..modules.module import typename


def _check_device(param, device):
    current = param.device
    if device is not None and current != device:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported."
        )
    return current


def parameters_to_vector(parameters):
    """Concatenate ``parameters``, flattened, into one vector."""
    device = None
    flat = []
    for param in parameters:
        device = _check_device(param, device)
        flat.append(param.view(-1))
    return torch.cat(flat)


def vector_to_parameters(vec, parameters):
    """Make each of ``parameters`` its slice of ``vec``."""
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    device = None
    position = 0
    for param in parameters:
        device = _check_device(param, device)
        count = param.numel()
        param.data = vec[position : position + count].view_as(param).data
        position += count
