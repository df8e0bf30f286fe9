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


__getattr__ = _absent.names("onnx", _REASON)
# Symbolic functions are registered here and never called.
_absent.submodule("onnx.symbolic_helper", parse_args=_parse_args)
