"""Special functions: the ops of ``torch.special``."""

from . import _C

globals().update(_C._special_table)
__all__ = sorted(_C._special_table)  # noqa: PLE0605
