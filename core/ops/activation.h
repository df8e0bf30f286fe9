// What activations and their fused gradients share.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

// activation.cpp
extern const Op<Tensor(Tensor)> relu;
extern const Op<Tensor(Tensor, Scalar)> leaky_relu;

// activation_backward.cpp
extern const Op<Tensor(Tensor, Tensor, Scalar)> threshold_backward, leaky_relu_backward,
    hardshrink_backward, softshrink_backward;
extern const Op<Tensor(Tensor, Tensor, Scalar, Scalar)> hardtanh_backward, softplus_backward;
extern const Op<Tensor(Tensor, Scalar, Scalar, Scalar, bool, Tensor)> elu_backward;
extern const Op<Tensor(Tensor, Tensor, std::string_view)> gelu_backward;
extern const Op<Tensor(Tensor, Tensor)> silu_backward, mish_backward, hardsigmoid_backward,
    hardswish_backward, log_sigmoid_backward, prelu_backward_weight;
extern const Op<Tensor(Tensor, Tensor, Tensor)> prelu_backward_input;

// gelu's `approximate`: whether by tanh.
inline bool by_tanh(std::string_view approximate) {
  check(approximate == "none" || approximate == "tanh",
        "approximate argument must be either none or tanh.");
  return approximate == "tanh";
}

}  // namespace rl::ops
