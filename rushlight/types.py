"""Names of types for annotations."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, Union

from . import _C

_int, _float, _bool = builtins.int, builtins.float, builtins.bool
_TensorOrTensors = Union[_C.Tensor, Sequence[_C.Tensor]]  # noqa: UP007
_dtype, _device, _layout = _C.dtype, _C.device, _C.layout
_size = Union[_C.Size, list[int], tuple[int, ...]]  # noqa: UP007
Device = Union[_C.device, str, int, None]  # noqa: UP007
Number = Union[int, float, bool]  # noqa: UP007
Storage = Any
FileLike = Any
