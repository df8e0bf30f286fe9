"""Channel shuffle as a layer."""

from __future__ import annotations

import rushlight as torch

from .module import Module


class ChannelShuffle(Module):
    """Interleave the channels of ``groups`` groups (Zhang et al. 2018)."""

    __constants__ = ["groups"]

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return torch.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return f"groups={self.groups}"
