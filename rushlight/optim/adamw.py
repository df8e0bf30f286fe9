"""AdamW lives with Adam; this module keeps its name in PyTorch importable."""

from .adam import AdamW

__all__ = ["AdamW"]
