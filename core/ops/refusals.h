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

// A fill may still go to a tensor whose elements share memory: all of them get the one value.
inline void warn_of_overlap(const char* op, const char* index, const Tensor& t) {
  if (internal_overlap(t) != Overlap::Yes) return;
  warn(text("Use of ", op, " on expanded tensors is deprecated. Please clone() the tensor before "
            "performing this operation. This also applies to advanced indexing e.g. tensor[", index,
            "] = scalar"));
}

// What is made of a differentiable tensor must have a history, and whole numbers cannot.
inline void refuse_whole_history(const Tensor& self, DType made) {
  check(is_differentiable(made) || !is_differentiable(self.dtype()) || !grad_enabled() ||
            !requires_grad(self), "Autograd not support dtype: ", type_name_of(made));
}

}  // namespace rl::ops
