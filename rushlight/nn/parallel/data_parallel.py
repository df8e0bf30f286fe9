"""DataParallel, which without a GPU is its module."""

from __future__ import annotations

from ..modules.module import Module


class DataParallel(Module):
    """Calls ``module`` on the inputs as they are: there is no GPU to spread them over."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs, **kwargs):
        """Call the module."""
        return self.module(*inputs, **kwargs)
