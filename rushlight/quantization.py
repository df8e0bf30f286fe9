"""The older name of torch.ao.quantization."""

from __future__ import annotations

from rushlight import _absent
from rushlight.ao.quantization import DeQuantStub, QuantStub, QuantWrapper  # noqa: F401

__path__: list = []  # its modules are known by name
_refused = _absent.names("quantization")


def __getattr__(name: str):
    from rushlight.ao import quantization

    return getattr(quantization, name, None) or _refused(name)
