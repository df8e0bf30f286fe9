"""Linear algebra: the ops of ``torch.linalg``."""

from . import _C

globals().update(_C._linalg_table)
__all__ = sorted(_C._linalg_table)  # noqa: PLE0605
