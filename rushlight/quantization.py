"""The older name of torch.ao.quantization."""

from __future__ import annotations

from rushlight.ao.quantization import DeQuantStub, QuantStub, QuantWrapper  # noqa: F401


def __getattr__(name: str):
    from rushlight.ao import quantization

    return getattr(quantization, name)
