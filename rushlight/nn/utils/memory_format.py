"""The memory format of convolution weights."""

from __future__ import annotations


def _convert(module, memory_format, kinds):
    if isinstance(module, kinds):
        data = module.weight.detach().clone().contiguous(memory_format=memory_format)
        module.weight.data = data.resize_(module.weight.size(), memory_format=memory_format)
    for child in module.children():
        _convert(child, memory_format, kinds)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Give the weights of all 2-D convolutions in ``module`` that memory format."""
    from ..modules.conv import Conv2d, ConvTranspose2d

    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Give the weights of all 3-D convolutions in ``module`` that memory format."""
    from ..modules.conv import Conv3d, ConvTranspose3d

    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
