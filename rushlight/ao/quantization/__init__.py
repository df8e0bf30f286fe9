"""Quantisation: refused; the marks in models that can be quantised pass their input on."""

from __future__ import annotations

from rushlight import _absent
from rushlight.nn.modules.module import Module


class QuantStub(Module):
    """The place where a model's input would be quantised: passes it on."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        """``x``."""
        return x


class DeQuantStub(QuantStub):
    """The place where a model's output would become floats again: passes it on."""


class QuantWrapper(Module):
    """A module between a QuantStub and a DeQuantStub."""

    def __init__(self, module):
        super().__init__()
        self.add_module("quant", QuantStub())
        self.add_module("dequant", DeQuantStub())
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X):
        """What the module inside makes of ``X``."""
        return self.dequant(self.module(self.quant(X)))


__getattr__ = _absent.names("ao.quantization")
_absent.submodule(
    "ao.quantization.stubs", QuantStub=QuantStub, DeQuantStub=DeQuantStub, QuantWrapper=QuantWrapper
)
