"""The parts of the type stubs that no op record tells: the core's own classes and functions."""

from __future__ import annotations

_BINARY = "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow".split()
_IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift".split()
_BITS = "and rand or ror xor rxor lshift rlshift rshift rrshift".split()
_COMPARE = "lt le gt ge".split()
_CASTS = (
    "double half bfloat16 long int short char byte bool chalf cfloat cdouble float cpu cuda".split()
)
_FLAGS = (
    "is_leaf retains_grad is_cpu is_meta is_cuda is_mps is_xpu is_xla is_ipu is_mkldnn is_sparse "
    "is_sparse_csr is_quantized is_nested is_vulkan"
).split()

IMPORTS = """\
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
"""

CORE = '''
import builtins
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self, SupportsIndex, TypeAlias, overload

_bool: TypeAlias = builtins.bool
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_Number: TypeAlias = builtins.float | builtins.int | builtins.bool | builtins.complex

class dtype:
    itemsize: _int
    is_floating_point: _bool
    is_complex: _bool
    is_signed: _bool
    def to_complex(self) -> dtype: ...
    def to_real(self) -> dtype: ...

class layout: ...
class memory_format: ...

class device:
    type: str
    index: _int | None
    @overload
    def __init__(self, device: _DeviceLike) -> None: ...
    @overload
    def __init__(self, type: str, index: _int) -> None: ...
    def __enter__(self) -> device: ...
    def __exit__(self, *exc: object) -> None: ...

_dtype: TypeAlias = dtype
_layout: TypeAlias = layout
_memory_format: TypeAlias = memory_format
_device: TypeAlias = device
_DeviceLike: TypeAlias = device | str | builtins.int

class Size(tuple[_int, ...]):
    def numel(self) -> _int: ...

class Generator:
    device: _device
    def __init__(self, device: _DeviceLike = ...) -> None: ...
    def manual_seed(self, seed: _int) -> Generator: ...
    def initial_seed(self) -> _int: ...
    def seed(self) -> _int: ...
    def get_state(self) -> Tensor: ...
    def set_state(self, state: Tensor) -> Generator: ...
    def graphsafe_get_state(self) -> Generator: ...
    def clone_state(self) -> Generator: ...

class UntypedStorage:
    device: _device
    def __init__(self, size: _int = ..., *, device: _DeviceLike | None = ...) -> None: ...
    def __len__(self) -> _int: ...
    def __getattr__(self, name: str) -> Any: ...
    def nbytes(self) -> _int: ...
    def size(self) -> _int: ...
    def data_ptr(self) -> _int: ...
    def resize_(self, size: _int) -> UntypedStorage: ...

class ModuleBase:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...

class _NodeBase:
    next_functions: tuple[tuple[_NodeBase | None, _int], ...]
    metadata: dict[Any, Any]
    def name(self) -> str: ...
    def register_hook(self, fn: Callable[..., Any]) -> Any: ...
    def register_prehook(self, fn: Callable[..., Any]) -> Any: ...

class _FunctionBase:
    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[_bool, ...]
    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any: ...
    def save_for_backward(self, *tensors: Tensor | None) -> None: ...
    def save_for_forward(self, *tensors: Tensor | None) -> None: ...
    def mark_dirty(self, *tensors: Tensor) -> None: ...
    def mark_non_differentiable(self, *tensors: Tensor) -> None: ...
    def set_materialize_grads(self, value: _bool) -> None: ...

default_generator: Generator
_VariableFunctions: types.ModuleType

def __getattr__(name: str) -> Any: ...
def op_table() -> list[dict[str, Any]]: ...
def tensor(
    data: Any,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def as_tensor(
    data: Any,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
) -> Tensor: ...
def from_numpy(ndarray: Any) -> Tensor: ...
def frombuffer(
    buffer: Any,
    *,
    dtype: _dtype,
    count: _int = -1,
    offset: _int = 0,
    requires_grad: _bool = False,
) -> Tensor: ...
def can_cast(from_: _dtype, to: _dtype) -> _bool: ...
def promote_types(type1: _dtype, type2: _dtype) -> _dtype: ...
def result_type(tensor1: Tensor | _Number, tensor2: Tensor | _Number) -> _dtype: ...
def get_default_dtype() -> _dtype: ...
def set_default_dtype(d: _dtype) -> None: ...
def get_num_threads() -> _int: ...
def set_num_threads(num: _int) -> None: ...
def is_grad_enabled() -> _bool: ...
def is_inference_mode_enabled() -> _bool: ...
def is_anomaly_enabled() -> _bool: ...
def is_anomaly_check_nan_enabled() -> _bool: ...
'''

TENSOR = "\n".join([
    "class TensorBase: ...",
    "",
    "class Tensor(TensorBase):",
    "    shape: Size",
    "    dtype: _dtype",
    "    device: _device",
    "    layout: _layout",
    "    requires_grad: _bool",
    "    grad: Tensor | None",
    "    data: Tensor",
    "    names: tuple[str | None, ...]",
    *(f"    {name}: _int" for name in ("ndim", "output_nr", "itemsize", "nbytes", "_version")),
    *(f"    {name}: _bool" for name in _FLAGS),
    *(f"    {name}: Tensor" for name in ("T", "mT", "H", "mH", "real", "imag")),
    "    _base: Tensor | None",
    "    @property",
    "    def grad_fn(self) -> _NodeBase | None: ...",
    "    def __init__(self, *args: Any, **kwargs: Any) -> None: ...",
    "    def __getitem__(self, index: Any) -> Tensor: ...",
    "    def __setitem__(self, index: Any, value: Any) -> None: ...",
    "    def __iter__(self) -> Iterator[Tensor]: ...",
    "    def __len__(self) -> _int: ...",
    "    def __contains__(self, element: Any) -> _bool: ...",
    "    def __reversed__(self) -> Tensor: ...",
    "    def __bool__(self) -> _bool: ...",
    "    def __int__(self) -> _int: ...",
    "    def __float__(self) -> _float: ...",
    "    def __complex__(self) -> builtins.complex: ...",
    "    def __index__(self) -> _int: ...",
    "    def __array__(self, dtype: Any = None) -> Any: ...",
    "    def __dlpack__(self, **kwargs: Any) -> Any: ...",
    "    def __dlpack_device__(self) -> tuple[_int, _int]: ...",
    "    def __hash__(self) -> _int: ...",
    *(f"    def __{n}__(self) -> Tensor: ..." for n in ("neg", "pos", "abs", "invert")),
    *(f"    def __{n}__(self, other: Tensor | _Number) -> Tensor: ..." for n in (*_BINARY, *_BITS)),
    *(f"    def __{n}__(self, other: Tensor | _Number) -> Self: ..." for n in _IN_PLACE),
    *(f"    def __{n}__(self, other: Tensor | _Number) -> Tensor: ..." for n in _COMPARE),
    *(f"    def __{n}__(self, other: Any) -> Tensor: ...  # type: ignore[override]"
      for n in ("eq", "ne")),
    "    def __matmul__(self, other: Tensor) -> Tensor: ...",
    "    def __rmatmul__(self, other: Tensor) -> Tensor: ...",
    "    @overload",
    "    def size(self, dim: None = None) -> Size: ...",
    "    @overload",
    "    def size(self, dim: _int) -> _int: ...",
    "    @overload",
    "    def stride(self, dim: None = None) -> tuple[_int, ...]: ...",
    "    @overload",
    "    def stride(self, dim: _int) -> _int: ...",
    *(f"    def {n}(self) -> _int: ..." for n in
      ("dim", "ndimension", "numel", "nelement", "element_size", "storage_offset", "data_ptr",
       "const_data_ptr", "get_device")),
    *(f"    def {n}(self) -> _bool: ..." for n in
      ("is_floating_point", "is_complex", "is_conj", "is_neg", "is_inference", "is_signed",
       "is_shared", "is_distributed")),
    "    def is_pinned(self, device: _DeviceLike | None = None) -> _bool: ...",
    "    def is_contiguous(self, memory_format: _memory_format = ...) -> _bool: ...",
    "    def untyped_storage(self) -> UntypedStorage: ...",
    "    def item(self) -> Any: ...",
    "    def tolist(self) -> Any: ...",
    "    def numpy(self, *, force: _bool = False) -> Any: ...",
    "    def requires_grad_(self, requires_grad: _bool = True) -> Self: ...",
    "    def retain_grad(self) -> None: ...",
    "    @overload",
    ("    def to(self, dtype: _dtype, non_blocking: _bool = False, copy: _bool = False, *,"
     " memory_format: _memory_format | None = None) -> Tensor: ..."),
    "    @overload",
    ("    def to(self, device: _DeviceLike | None = None, dtype: _dtype | None = None,"
     " non_blocking: _bool = False, copy: _bool = False, *,"
     " memory_format: _memory_format | None = None) -> Tensor: ..."),
    "    @overload",
    ("    def to(self, other: Tensor, non_blocking: _bool = False, copy: _bool = False, *,"
     " memory_format: _memory_format | None = None) -> Tensor: ..."),
    *(f"    def {n}(self, *args: Any, memory_format: _memory_format | None = None) -> Tensor: ..."
      for n in _CASTS),
    "    def set_(self, *args: Any, **kwargs: Any) -> Self: ...",
    "    def resize_(self, *size: Any, memory_format: _memory_format | None = None) -> Self: ...",
    "    def as_subclass(self, cls: builtins.type[Any]) -> Any: ...",
    ("    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None,"
     " create_graph: _bool = False, inputs: Sequence[Tensor] | None = None) -> None: ..."),
    "    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any: ...",
    ("    def type(self, dtype: Any = None, non_blocking: _bool = False, **kwargs: Any)"
     " -> Any: ..."),
])  # fmt: skip

# What the methods written in Python return.
RETURNS = {
    "norm": "Tensor", "split": "tuple[Tensor, ...]", "unflatten": "Tensor", "stft": "Tensor",
    "istft": "Tensor", "type_as": "Tensor", "new_tensor": "Tensor", "new": "Tensor",
    "is_distributed": "_bool", "dim_order": "tuple[_int, ...]", "pin_memory": "Tensor",
    "apply_": "Tensor", "map_": "Tensor", "share_memory_": "Tensor", "storage_type": "Any",
    "module_load": "Tensor",
}  # fmt: skip
