"""Padding layers."""

from __future__ import annotations

from rushlight import _C

from .module import Module
from .utils import _ntuple

_nn = _C._nn


class _PadNd(Module):
    # Pads the last `_rank` dimensions by `padding`, two numbers per dimension, last one first.
    __constants__ = ["padding"]
    _rank = 0
    _mode = "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(2 * self._rank, "")(padding)

    def forward(self, input):
        return _nn.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return _nn.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pad (L,) with ``value``."""

    _rank = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad (H, W) with ``value``."""

    _rank = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad (D, H, W) with ``value``."""

    _rank = 3


class ZeroPad1d(ConstantPad1d):
    """Pad (L,) with zeros."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pad (H, W) with zeros."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pad (D, H, W) with zeros."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ReflectionPad1d(_PadNd):
    """Pad (L,) with its reflection, the edge not repeated."""

    _rank = 1
    _mode = "reflect"


class ReflectionPad2d(_PadNd):
    """Pad (H, W) with its reflection, the edge not repeated."""

    _rank = 2
    _mode = "reflect"


class ReflectionPad3d(_PadNd):
    """Pad (D, H, W) with its reflection, the edge not repeated."""

    _rank = 3
    _mode = "reflect"


class ReplicationPad1d(_PadNd):
    """Pad (L,) with its edge."""

    _rank = 1
    _mode = "replicate"


class ReplicationPad2d(_PadNd):
    """Pad (H, W) with its edge."""

    _rank = 2
    _mode = "replicate"


class ReplicationPad3d(_PadNd):
    """Pad (D, H, W) with its edge."""

    _rank = 3
    _mode = "replicate"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input):
        n = self._rank
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pad (L,) with its other end."""

    _rank = 1


class CircularPad2d(_CircularPadNd):
    """Pad (H, W) with its other end."""

    _rank = 2


class CircularPad3d(_CircularPadNd):
    """Pad (D, H, W) with its other end."""

    _rank = 3
