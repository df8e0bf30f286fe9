"""torch.linalg: written by tools/stubs.py from the op table."""

from collections.abc import Sequence
from typing import Any, overload

from ._C import (
    Generator,
    Tensor,
    _bool,
    _device,
    _DeviceLike,
    _dtype,
    _float,
    _int,
    _layout,
    _memory_format,
    _Number,
)

@overload
def matrix_norm(input: Tensor, ord: _Number, dim: Sequence[_int] = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_norm(input: Tensor, ord: str = 'fro', dim: Sequence[_int] = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def norm(input: Tensor, ord: _Number | None = None, dim: Sequence[_int] | _int | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def norm(input: Tensor, ord: str, dim: Sequence[_int] | _int | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
def vector_norm(input: Tensor, ord: _Number = 2, dim: Sequence[_int] | _int | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
