"""Linear algebra: the ops of ``torch.linalg``."""

from . import _C
from ._C import _LinAlgError as LinAlgError  # noqa: F401  (in __all__)

globals().update(_C._linalg_table)
if "matmul" not in _C._linalg_table:
    matmul = _C._functions_table["matmul"]
__all__ = sorted({*_C._linalg_table, "LinAlgError", "matmul"})  # noqa: PLE0605
