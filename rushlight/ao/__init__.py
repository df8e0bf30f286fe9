"""Quantisation, pruning and numeric suites: refused, but for what leaves a model as it is."""

from __future__ import annotations

from rushlight import _absent

REASON = (
    "rushlight has no quantised tensors. On the CPU, torch.autocast with bfloat16 halves the "
    "memory of activations."
)

for _name, _known in {
    "nn": "",
    "nn.intrinsic": "ConvBn2d ConvBnReLU2d ConvReLU2d LinearReLU BNReLU2d",
    "nn.intrinsic.qat": "ConvBn2d ConvBnReLU2d ConvReLU2d LinearReLU",
    "nn.intrinsic.quantized": "ConvReLU2d LinearReLU",
    "nn.qat": "Conv2d Embedding Linear",
    "nn.quantizable": "LSTM MultiheadAttention",
    "nn.quantized": "Conv1d Conv2d Conv3d Embedding EmbeddingBag FloatFunctional Linear Quantize",
    "nn.quantized.dynamic": "GRU GRUCell LSTM LSTMCell Linear RNNCell",
    "ns": "",
    "pruning": "BaseSparsifier WeightNormSparsifier",
}.items():
    _absent.submodule(f"ao.{_name}", REASON, _known)
