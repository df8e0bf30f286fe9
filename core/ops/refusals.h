// What PyTorch refuses to differentiate: checked where an op infers its results.
#pragma once
#include "autograd/meta.h"
#include "base/error.h"

namespace rl::ops {

// An argument that no gradient is defined for must not ask for one.
inline void refuse_gradient(const char* op, const char* argument, const Tensor& t) {
  check(!t || !grad_enabled() || !requires_grad(t), "The function '", op, "' is not differentiable "
        "with respect to argument '", argument, "'. This input cannot have requires_grad True.");
}

// An op without complex derivatives must not record any.
inline void refuse_complex_gradient(const char* op, const Tensor& t) {
  check(!t || !t.is_complex() || !grad_enabled() || !requires_grad(t), op, " does not support "
        "automatic differentiation for outputs with complex dtype.");
}

}  // namespace rl::ops
