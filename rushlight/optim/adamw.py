"""AdamW lives with Adam; this module keeps its name in PyTorch importable."""

from .adam import AdamW

AdamW.__module__ = __name__  # as pickles name it

__all__ = ["AdamW"]
