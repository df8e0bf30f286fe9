"""Linear algebra: the ops of ``torch.linalg``."""

from . import _C
from ._C import _LinAlgError as LinAlgError

globals().update(_C._linalg_table)
__all__ = sorted([*_C._linalg_table, "LinAlgError"])  # noqa: PLE0605
