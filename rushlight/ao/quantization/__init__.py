"""Quantisation: refused; the marks in models that can be quantised pass their input on."""

from __future__ import annotations

from rushlight import _absent
from rushlight.ao import REASON as _REASON
from rushlight.nn.modules.module import Module


class QuantStub(Module):
    """The place where a model's input would be quantised: passes it on."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        """``x``."""
        return x


class DeQuantStub(QuantStub):
    """The place where a model's output would become floats again: passes it on."""


class QuantWrapper(Module):
    """A module between a QuantStub and a DeQuantStub."""

    def __init__(self, module):
        super().__init__()
        self.add_module("quant", QuantStub())
        self.add_module("dequant", DeQuantStub())
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X):
        """What the module inside makes of ``X``."""
        return self.dequant(self.module(self.quant(X)))


_KNOWN = (
    "ABC FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize FusedMovingAvgObsFakeQuantize "
    "HistogramObserver MinMaxObserver MovingAverageMinMaxObserver "
    "MovingAveragePerChannelMinMaxObserver NoopObserver ObserverBase ObserverOrFakeQuantize "
    "PerChannelMinMaxObserver PlaceholderObserver QConfig QConfigAny QConfigDynamic QConfigMapping "
    "QuantType RecordingObserver add_quant_dequant convert default_debug_qconfig "
    "default_dynamic_qconfig default_eval_fn default_fake_quant default_histogram_observer "
    "default_observer default_per_channel_qconfig default_per_channel_weight_observer "
    "default_placeholder_observer default_qat_qconfig default_qconfig default_weight_fake_quant "
    "default_weight_observer disable_fake_quant disable_observer enable_fake_quant enable_observer "
    "float16_dynamic_qconfig float16_static_qconfig float_qparams_weight_only_qconfig fuse_modules "
    "fuse_modules_qat get_default_compare_output_module_list get_default_qat_qconfig "
    "get_default_qat_qconfig_mapping get_default_qconfig get_default_qconfig_mapping "
    "get_observer_state_dict load_observer_state_dict per_channel_dynamic_qconfig prepare "
    "prepare_qat propagate_qconfig_ quantize quantize_dynamic quantize_qat swap_module "
    "MinMaxObserver"
)
__getattr__ = _absent.names("ao.quantization", _REASON, _KNOWN)
for _name in (
    "fake_quantize", "fuse_modules", "observer", "qconfig", "qconfig_mapping", "quant_type",
    "quantize", "stubs", "utils",
):  # fmt: skip
    _absent.submodule(f"ao.quantization.{_name}", _REASON, _KNOWN)
for _name in ("quantize_fx", "fx", "quantize_pt2e", "quantizer", "backend_config"):
    _absent.submodule(
        f"ao.quantization.{_name}", _REASON, "Quantizer QuantizationSpec BackendConfig convert_fx "
        "convert_pt2e fuse_fx prepare_fx prepare_pt2e prepare_qat_fx prepare_qat_pt2e",
    )  # fmt: skip
