"""Rushlight: a small, quick torch that explains itself. ``import rushlight as torch``."""

# ruff: noqa: E402, F401, F403  (names are imported to be found here, some late)

from __future__ import annotations

import sys as _sys

try:
    from . import _C
except ImportError as _error:
    if "_C" not in str(_error) or "circular" not in str(_error):
        raise
    raise ImportError(
        f"{__file__} is a source folder without the compiled core, and Python found it before the "
        "installed package. Run Python from another folder, or with -P."
    ) from None

TYPE_CHECKING = False  # true to a type checker: _public.pyi says what it would miss
if TYPE_CHECKING:
    from ._public import *

# The core's names: dtypes, layouts, devices, tensors, generators.
from ._C import (
    Generator,
    Size,
    Tensor,
    UntypedStorage,
    as_tensor,
    bfloat16,
    bool,
    can_cast,
    cdouble,
    cfloat,
    chalf,
    channels_last,
    channels_last_3d,
    complex32,
    complex64,
    complex128,
    contiguous_format,
    default_generator,
    device,
    double,
    dtype,
    float,
    float4_e2m1fn_x2,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    from_numpy,
    frombuffer,
    get_default_dtype,
    get_num_threads,
    half,
    int,
    int8,
    int16,
    int32,
    int64,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    layout,
    long,
    memory_format,
    preserve_format,
    promote_types,
    result_type,
    set_default_dtype,
    set_num_threads,
    short,
    sparse_coo,
    strided,
    tensor,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .version import __version__


def _namespace(name: str, table: dict):
    module = type(_sys)(f"{__name__}._C.{name}", f"The core's ops of torch._C.{name}.")
    module.__dict__.update(table)
    _sys.modules[module.__name__] = module
    setattr(_C, name, module)
    return module


# The core's ops: functions here, the others in their namespaces.
globals().update(_C._functions_table)
_VariableFunctions = _namespace("_VariableFunctions", _C._functions_table)
_C._VariableFunctionsClass = _VariableFunctions  # PyTorch's pickles of functions name it
for _place in ("_nn", "_linalg", "_special", "_fft"):
    _prefix = "" if _place == "_nn" else f"{_place[1:]}_"  # torch._C._linalg.linalg_norm
    _table = getattr(_C, f"{_place}_table")
    _namespace(_place, {f"{_prefix}{_name}": _op for _name, _op in _table.items()})
del _place, _prefix, _table

from . import overrides as _overrides

_C._disabled_torch_function_impl = _overrides._disabled_torch_function_impl

from . import _tensor, functional, storage
from ._number_info import finfo, iinfo
from ._reductions import norm, unique, unique_consecutive
from ._settings import (
    are_deterministic_algorithms_enabled,
    get_default_device,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_default_device,
    set_default_tensor_type,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_warn_always,
    use_deterministic_algorithms,
)
from ._shapes import atleast_1d, atleast_2d, atleast_3d, block_diag, broadcast_tensors
from ._tensor_str import set_printoptions
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from .functional import (
    broadcast_shapes,
    cdist,
    compile,
    get_device,
    is_complex,
    is_conj,
    is_floating_point,
    is_inference,
    is_neg,
    is_nonzero,
    is_same_size,
    is_signed,
    is_storage,
    is_tensor,
    nonzero,
    numel,
    split,
    stft,
    typename,
)
from .interchange import asarray
from .random import (
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
    thread_safe_generator,
)

_tensor.attach(Tensor)
storage.attach(UntypedStorage)

e = 2.718281828459045
pi = 3.141592653589793
inf = _C._inf if hasattr(_C, "_inf") else 1e999
nan = inf - inf
newaxis = None
has_lapack = has_spectral = True
has_mkl = has_openmp = False
legacy_contiguous_format = contiguous_format

# Modules that are imported when first asked for.
_LAZY_MODULES = frozenset(
    "_C __config__ __future__ _custom_ops _dynamo _inductor _jit_internal _lowrank accelerator "
    "amp ao autograd backends bench compiler cpu cuda distributed distributions export fft func "
    "functional futures fx hub jit library linalg masked memory mps mtia multiprocessing nn onnx "
    "optim overrides profiler quasirandom quantization random return_types serialization "
    "signal sparse special storage testing torch_version types utils version xpu "
    # refused, known by name (_absent)
    "_decomp _export _functorch _guards _higher_order_ops _logging _subclasses contrib monitor "
    "nativert nested numa package".split()
)
# Names that come from a module which is imported when one of them is first asked for.
_HOME = {
    name: module
    for module, names in {
        "_absent_dtypes": (
            "bit bits16 bits1x8 bits2x4 bits4x2 bits8 int1 int2 int3 int4 int5 int6 int7 jagged "
            "per_channel_affine per_channel_affine_float_qparams per_channel_symmetric "
            "per_tensor_affine per_tensor_symmetric qint32 qint8 qscheme quint2x4 quint4x2 "
            "quint8 sparse_bsc sparse_bsr sparse_csc sparse_csr uint1 uint2 uint3 uint4 uint5 "
            "uint6 uint7"
        ),
        "_checks": (
            "_assert _assert_async _check _check_index _check_is_size _check_not_implemented "
            "_check_tensor_all _check_tensor_all_with _check_type _check_value _check_with "
            "_shape_as_tensor"
        ),
        "_core_names": (
            "DispatchKey DispatchKeySet ExcludeDispatchKeyGuard FatalError PyTorchFileReader "
            "PyTorchFileWriter ScriptFunction ScriptModule Tag"
        ),
        "_differences": "gradient",
        "_higher_order_ops": "cond while_loop",
        "_linear_algebra": "chain_matmul lu",
        "_lobpcg": "lobpcg",
        "_lowrank": "pca_lowrank svd_lowrank",
        "_ops": "ops",
        "_products": "einsum tensordot",
        "_reductions": "norm_except_dim",
        "_segments": "histogramdd segment_reduce",
        "_shapes": "cartesian_prod combinations meshgrid unravel_index",
        "_streams": "AcceleratorError Event get_device_module OutOfMemoryError Stream",
        "_symbols": (
            "sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int "
            "sym_ite sym_max sym_min sym_not sym_sqrt sym_sum SymBool SymFloat SymInt"
        ),
        "amp": "GradScaler",
        "amp.autocast_mode": (
            "autocast autocast_decrement_nesting autocast_increment_nesting "
            "clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype "
            "get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype "
            "is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
            "is_autocast_ipu_enabled is_autocast_xla_enabled set_autocast_cache_enabled "
            "set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype "
            "set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype "
            "set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled"
        ),
        "diagnosis.answers": "explain graph why_no_grad",
        "func": "vmap",
        "nn.functional.grouped": "_grouped_mm _scaled_mm",
        "random": "fork_rng",
        "serialization": "load save",
        "sparse": "spmm",
        "storage": "TypedStorage",
        "utils.dlpack": "from_dlpack to_dlpack",
    }.items()
    for name in names.split()
}


class _FindRefused:
    """Makes modules of PyTorch's that are refused, after all that look for files."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if not fullname.startswith(f"{__package__}."):
            return None
        from ._absent import Finder

        return Finder.find_spec(fullname)


_sys.meta_path.append(_FindRefused)


def __getattr__(name: str):
    from importlib import import_module

    if name in _LAZY_MODULES:
        try:
            return import_module(f"{__package__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__package__}.{name}":
                raise
            raise AttributeError(f"module 'torch' has no attribute '{name}'") from None
    if name in _HOME:
        value = getattr(import_module(f"{__package__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name == "torch":
        return _sys.modules[__package__]
    if name == "__all__":
        return _starred()
    if name.startswith("_foreach_"):
        from . import _foreach

        if hasattr(_foreach, name):
            globals()[name] = getattr(_foreach, name)
            return globals()[name]
    if name.endswith("Storage"):
        from . import storage

        for kind in storage.LEGACY_CLASSES.values():
            if kind.__name__ == name:
                return kind
    if name.endswith("Tensor"):
        from ._legacy_types import legacy_type

        kind = legacy_type(name)
        if kind is not None:
            globals()[name] = kind
            return kind
    if name.startswith("__"):
        raise AttributeError(f"module 'torch' has no attribute '{name}'")
    return getattr(import_module(f"{__package__}._refused_names"), name)


def _nn_getattr(name: str):
    if name == "_parse_to":
        from .nn.modules.module import _parse_to

        return lambda *args, **kwargs: _parse_to(args, kwargs)
    raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")


_C._nn.__getattr__ = _nn_getattr


def _core_getattr(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    from . import _core_names

    return getattr(_core_names, name)


_C.__getattr__ = _core_getattr


def _starred() -> list[str]:
    """What ``from torch import *`` gives: values that PyTorch has as well, no modules."""
    ours = {"TYPE_CHECKING", "annotations", "explain", "graph", "why_no_grad"}
    kinds = "Bool Byte Char Double Float Int Long Short".split()
    typed = {kind + what for kind in kinds for what in ("Storage", "Tensor")}
    module = type(_sys)
    own = {name for name, value in globals().items() if not isinstance(value, module)}
    return sorted(n for n in own.union(_HOME, typed) - ours if not n.startswith("_"))


def __dir__():
    return sorted({*globals(), *_LAZY_MODULES, *_HOME})


def _explain_errors():
    from .diagnosis.hook import install

    install()


_explain_errors()
