"""Names of torch._C that libraries mention and our core has no use for."""

from __future__ import annotations

import enum

from . import _absent

DispatchKey = enum.Enum(
    "DispatchKey",
    "Undefined Dense CPU CUDA XPU MPS Meta Autograd AutogradCPU AutogradCUDA AutogradXPU "
    "AutogradMeta AutocastCPU AutocastCUDA AutocastXPU BackendSelect ADInplaceOrView "
    "CompositeExplicitAutograd CompositeImplicitAutograd FuncTorchBatched "
    "FuncTorchDynamicLayerFrontMode Functionalize NestedTensor Python PreDispatch "
    "PythonTLSSnapshot Sparse SparseCPU SparseCUDA Tracer",
)


class DispatchKeySet:
    """A set of dispatch keys; nothing is dispatched by them."""

    def __init__(self, *keys):
        self.keys = frozenset(keys)

    def __or__(self, other):
        return DispatchKeySet(*(self.keys | other.keys))

    def __and__(self, other):
        return DispatchKeySet(*(self.keys & other.keys))

    def __sub__(self, other):
        return DispatchKeySet(*(self.keys - other.keys))

    def has(self, key) -> bool:
        """Whether the set has ``key``."""
        return key in self.keys

    add = __or__


class _ExcludeDispatchKeyGuard:
    """A block that changes nothing."""

    def __init__(self, keys):
        self.keys = keys

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None


_IncludeDispatchKeyGuard = ExcludeDispatchKeyGuard = _ExcludeDispatchKeyGuard
_AutoDispatchBelowAutograd = _ExcludeDispatchKeyGuard


class Tag(enum.Enum):
    """Marks of operators; nothing looks at them."""

    core = 0
    data_dependent_output = 1
    dynamic_output_shape = 2
    flexible_layout = 3
    generated = 4
    inplace_view = 5
    maybe_aliasing_or_mutating = 6
    needs_exact_strides = 7
    needs_fixed_stride_order = 8
    nondeterministic_bitwise = 9
    nondeterministic_seeded = 10
    pointwise = 11
    pt2_compliant_tag = 12
    view_copy = 13


class FatalError(RuntimeError):
    """An error of PyTorch's core; never raised here."""


def _get_accelerator(check: bool | None = None):
    """The device of this machine: the CPU."""
    from . import _C

    return _C.device("cpu")


def _dispatch_has_kernel_for_dispatch_key(name, key) -> bool:
    """Whether an operator of ``torch.ops`` is there."""
    from . import _ops

    return name in _ops._defined


def _dispatch_has_kernel(name) -> bool:
    """Whether an operator of ``torch.ops`` is there."""
    return _dispatch_has_kernel_for_dispatch_key(name, None)


_dispatch_has_computed_kernel_for_dispatch_key = _dispatch_has_kernel_for_dispatch_key


def _switched_off(*args, **kwargs) -> bool:
    """False: what this switches is not there."""
    return False


def _nothing(*args, **kwargs) -> None:
    """None: nothing is traced, and no such switch changes how the CPU computes."""


_get_tracing_state = _set_math_sdp_allow_fp16_bf16_reduction = _nothing
_mps_is_available = _switched_off


def _get_cudnn_enabled() -> bool:
    """True, as nothing switched it off."""
    return True


def _get_default_device() -> str:
    """The kind of device on which new tensors are."""
    import rushlight

    return rushlight.get_default_device().type


def _get_privateuse1_backend_name() -> str:
    """What PyTorch calls the kind of device that a program may add."""
    return "privateuseone"


def _are_functorch_transforms_active() -> bool:
    """Whether a function of ``torch.func`` runs another."""
    from . import _C

    return _C._count_transforms(0) > 0


_has_cuda = has_cuda = has_mps = has_openmp = has_mkl = False
has_lapack = has_spectral = True
_GLIBCXX_USE_CXX11_ABI = True
_refused = _absent.names(
    "_C", _absent.NO_SCRIPT,
    "Argument Block Graph GraphExecutorState Node ScriptDict ScriptList "
    "ScriptMethod ScriptObject Type TensorType Value FunctionSchema "
    "PyTorchFileWriter parse_schema parse_ir",
)  # fmt: skip


def __getattr__(name: str):
    if name.startswith(("_jit_", "_set_graph_executor", "_set_mkldnn", "_log_api_usage")):
        return _switched_off
    if name in ("SymInt", "SymFloat", "SymBool"):
        from . import _symbols

        return getattr(_symbols, name)
    if name in ("Stream", "Event", "OutOfMemoryError", "AcceleratorError"):
        from . import _streams

        return getattr(_streams, name)
    if name == "PyTorchFileReader":
        from ._file_reader import PyTorchFileReader

        return PyTorchFileReader
    if name in ("ScriptModule", "ScriptFunction"):
        from . import jit

        return getattr(jit, name)
    if name == "Future":
        from .futures import Future

        return Future
    return _refused(name)
