"""Export to ONNX: refused; programs that ask whether one is under way hear no."""

from __future__ import annotations

from rushlight import _absent

_REASON = (
    "rushlight has no exporter. Save the weights with torch.save(model.state_dict(), file), which "
    "PyTorch reads, and export there."
)


def is_in_onnx_export() -> bool:
    """False."""
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version, custom_opsets=None):
    """Does nothing: what it tells an exporter, nobody asks."""


def unregister_custom_op_symbolic(symbolic_name, opset_version) -> None:
    """Does nothing."""


def _parse_args(*descriptors):
    return lambda symbolic: symbolic


__getattr__ = _absent.names(
    "onnx", _REASON,
    "ExportOptions ExportableModule InputObserver JitScalarType ONNXProgram ONNXRuntimeOptions "
    "OnnxExporterError OperatorExportTypes TensorProtoDataType TrainingMode dynamo_export export "
    "select_model_mode_for_export",
)  # fmt: skip

# Symbolic functions are registered here and never called.
for _name, _known in {
    "_internal": "",
    "_internal.exporter": "ONNXProgram",
    "errors": "OnnxExporterError SymbolicValueError UnsupportedOperatorError",
    "operators": "reshape_from_tensor_shape shape_as_tensor",
    "ops": "attention rotary_embedding rms_norm symbolic symbolic_multi_out",
    "symbolic_helper": "",
    **{f"symbolic_opset{version}": "" for version in range(7, 21)},
    "utils": "export select_model_mode_for_export",
}.items():
    _absent.submodule(f"onnx.{_name}", _REASON, _known)

from . import symbolic_helper as _helper  # noqa: E402

_helper.parse_args = _parse_args
