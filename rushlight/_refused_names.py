"""Names of torch itself that Rushlight refuses, answers trivially or that PyTorch has removed."""

from __future__ import annotations

from . import _C, _absent

_QUANTISED = frozenset(
    "choose_qparams_optimized empty_quantized fused_moving_avg_obs_fake_quant int_repr "
    "q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point "
    "quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm "
    "quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d "
    "quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell "
    "QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage "
    "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine".split()
)
_SPARSE = frozenset(
    "ccol_indices_copy col_indices_copy crow_indices_copy dsmm hsmm hspmm indices_copy "
    "resize_as_sparse_ row_indices_copy saddmm slice_inverse smm sparse_bsc_tensor "
    "sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor "
    "sparse_csr_tensor sspaddmm values_copy".split()
)
_SCRIPT = frozenset(
    "AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig "
    "BenchmarkExecutionStats Block BoolType BufferDict CallStack Capsule ClassType Code "
    "CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType "
    "ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext DeviceObjType "
    "DictType EnumType ErrorReport ExecutionPlan FileCheck FloatType FunctionSchema FutureType "
    "Gradient Graph GraphExecutorState IODescriptor InferredType IntType InterfaceType "
    "JITException ListType LiteScriptModule LockingLogger LoggerBase ModuleDict Node NoneType "
    "NoopLogger NumberType OperatorInfo OptionalType ParameterDict PyObjectType RRefType "
    "ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator "
    "ScriptList ScriptListIterator ScriptMethod ScriptModuleSerializer ScriptObject "
    "ScriptObjectProperty SerializationStorageContext StaticModule StreamObjType StringType "
    "SymBoolType SymIntType TensorType ThroughputBenchmark TracingState TupleType Type UnionType "
    "Use Value import_ir_module import_ir_module_from_buffer merge_type_from_type_comment "
    "parse_ir parse_schema parse_type_comment unify_type_list".split()
)
_VENDORS = frozenset(
    "cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu "
    "cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler "
    "fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation "
    "fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation "
    "fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix "
    "miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu "
    "miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn "
    "mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights "
    "mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer batch_norm_backward_elemt "
    "batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats "
    "batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats "
    "native_norm".split()
)
_REASONS = {
    _QUANTISED: _absent.NO_QUANTISED,
    _SPARSE: "rushlight has strided tensors only. Use a dense tensor, or gather, scatter_add and "
    "index_add over index lists.",
    _SCRIPT: _absent.NO_SCRIPT,
    _VENDORS: "it calls a library that rushlight does not use. The functions of "
    "torch.nn.functional do the same.",
}
USE_GLOBAL_DEPS = USE_RTLD_GLOBAL_WITH_LIBTORCH = False
PRIVATE_OPS = ("unsafe_split",)


def _removed(name: str, instead: str):
    def removed(*args, **kwargs):
        raise RuntimeError(
            "This function was deprecated since version 1.9 and is now removed. "
            f"`torch.{name}` is deprecated in favor of `{instead}`."
        )

    removed.__name__ = name
    return removed


eig = _removed("eig", "torch.linalg.eig")
lstsq = _removed("lstsq", "torch.linalg.lstsq")
matrix_rank = _removed("matrix_rank", "torch.linalg.matrix_rank")
solve = _removed("solve", "torch.linalg.solve")
symeig = _removed("symeig", "torch.linalg.eigh")


def detach_(input):
    """``input.detach_()``."""
    return input.detach_()


def dequantize(tensor):
    """``tensor.dequantize()``: the tensor itself as float32."""
    return tensor.dequantize()


def resize_as_(input, the_template, *, memory_format=None):
    """``input.resize_as_(the_template)``."""
    return input.resize_as_(the_template)


def is_distributed(input) -> bool:
    """False."""
    return False


def cudnn_is_acceptable(input) -> bool:
    """False."""
    return False


def is_vulkan_available() -> bool:
    """False."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """True."""
    return True


def init_num_threads() -> None:
    """Does nothing: threads are there when they are needed."""


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN: it does when it is on."""
    return True


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switches anomaly mode."""
    from .autograd import set_detect_anomaly

    set_detect_anomaly(mode, check_nan)


def get_file_path(*components: str) -> str:
    """A path below the folder that the package is in."""
    from pathlib import Path

    return str(Path(__file__).resolve().parent.parent.joinpath(*components))


def fork(func, *args, **kwargs):
    """``torch.jit.fork``: calls ``func`` at once."""
    from . import jit

    return jit.fork(func, *args, **kwargs)


def wait(future):
    """``torch.jit.wait``: the result of :func:`fork`."""
    return future.wait()


def from_file(
    filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False
):
    """A tensor of ``size`` elements over the memory of a file; ``shared`` writes through."""
    dtype = dtype or _C.get_default_dtype()
    storage = _C.UntypedStorage.from_file(filename, bool(shared), size * dtype.itemsize)
    return _C._VariableFunctions.empty(0, dtype=dtype).set_(storage, 0, (size,))


class classproperty:
    """A property of a class."""

    def __init__(self, func):
        self.func = func

    def __get__(self, instance, owner):
        return self.func(owner)


def __getattr__(name: str):
    for names, reason in _REASONS.items():
        if name in names:
            make = _absent.refused_class if name[0].isupper() else _absent.refused_function
            globals()[name] = make("", name, reason)
            return globals()[name]
    if name == "Future":
        from .futures import Future

        return Future
    if name in ("Storage", "StorageBase"):
        from . import storage

        return storage.UntypedStorage if name == "StorageBase" else storage.FloatStorage
    raise AttributeError(f"module 'torch' has no attribute '{name}'")
