"""What PyTorch calls the things a recording holds: ops, graph nodes, modules, ranges."""

from __future__ import annotations

import functools

from rushlight import _C

OP, NODE, MODULE, RANGE = range(4)

# Records that stand for several ops of PyTorch's, by the op that does their work there.
_STANDS_FOR = {
    "_linear_addmm": "addmm",
    "_linear_view": "addmm",
    "_linear_mm": "mm",
    "_linear_unsafe_view": "mm",
    "_linear_squeeze": "mm",
    "_linear_backward": "linear_backward",
    "_stacked_matmul": "bmm",
    "_convolution_backward": "convolution_backward",
    "_attention": "_scaled_dot_product_flash_attention_for_cpu",
    "_attention_backward": "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_layer_norm_backward": "native_layer_norm_backward",
    "_batch_norm_backward": "native_batch_norm_backward",
    "_group_norm_backward": "native_group_norm_backward",
    "_rms_norm_backward": "_fused_rms_norm_backward",
    "_dropout_noise": "native_dropout",
    "_lstm_layer": "mkldnn_rnn_layer",
    "_lstm_layer_backward": "mkldnn_rnn_layer_backward",
    "_lstm_gates": "_thnn_fused_lstm_cell",
    "_lstm_gates_backward": "_thnn_fused_lstm_cell_backward",
    "_gru_gates": "_thnn_fused_gru_cell",
    "_gru_gates_backward": "_thnn_fused_gru_cell_backward",
    "_adaptive_avg_pool_backward": "_adaptive_avg_pool2d_backward",
    "_avg_pool_backward": "avg_pool2d_backward",
    "_max_pool_backward": "max_pool2d_with_indices_backward",
    "_bce_elements": "binary_cross_entropy",
    "_bce_backward": "binary_cross_entropy_backward",
    "_bce_with_logits_elements": "binary_cross_entropy_with_logits",
    "_cross_entropy_rows": "_log_softmax",
    "_cross_entropy_areas": "_log_softmax",
    "_cross_entropy_backward": "_log_softmax_backward_data",
    "_huber_loss_elements": "huber_loss",
    "_huber_loss_backward": "huber_loss_backward",
    "_kl_elements": "kl_div",
    "_mse_elements": "mse_loss",
    "_mse_loss_backward": "mse_loss_backward",
    "_smooth_l1_loss_elements": "smooth_l1_loss",
    "_smooth_l1_loss_backward": "smooth_l1_loss_backward",
    "_prelu_backward_input": "_prelu_kernel_backward",
    "_prelu_backward_weight": "_prelu_kernel_backward",
    "_div_number": "div",
    "_rdiv": "div",
    "_rpow": "pow",
    "_rmod": "remainder",
    "_rfloordiv": "floor_divide",
    "_rlshift": "__lshift__",
    "_rrshift": "__rshift__",
    "_invert": "bitwise_not",
    "_resolve_bits": "resolve_conj",
    "_scale_list_": "_foreach_mul_",
    "_total_norm": "_foreach_norm",
    "_adam_step": "_fused_adam_",
    "_sgd_step": "_fused_sgd_",
    "_adagrad_step": "_fused_adagrad_",
}
_STANDS_FOR |= {
    name: f"special_{name}"
    for name in "entr erfcx i0e i1 i1e log_ndtr ndtr ndtri xlog1py zeta".split()
}


@functools.cache
def op_name(record: str, in_place: bool = False) -> str:
    """``aten::max`` for the record ``max.dim``; ``aten::add_`` for ``add`` in place."""
    base = record.partition(".")[0]
    name = _STANDS_FOR.get(base, base)
    if in_place and not name.endswith("_"):
        name += "_"
    return f"aten::{name}"


@functools.cache
def node_name(node: str) -> str:
    """``torch::autograd::AccumulateGrad``; other nodes keep their names."""
    return f"torch::autograd::{node}" if node == "AccumulateGrad" else node


@functools.lru_cache(maxsize=1)
def records() -> dict[str, dict]:
    """The op table by name."""
    return {r["name"]: r for r in _C.op_table()}


class ModuleNames:
    """``nn.Module: Linear_0``: modules of a class by the order in which they were first called."""

    def __init__(self):
        self._names, self._counts = {}, {}

    def __call__(self, module) -> str:
        name = self._names.get(id(module))
        if name is None:
            kind = type(module).__name__
            number = self._counts.get(kind, 0)
            self._counts[kind] = number + 1
            name = self._names[id(module)] = f"nn.Module: {kind}_{number}"
        return name
