"""The type of torch.__version__."""

from .version import TorchVersion

__all__ = ["TorchVersion"]
