"""torch.fft: written by tools/stubs.py from the op table."""

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


