// What the files of element-by-element ops share: short forms of their records and formulas.
#pragma once
#include "kernels/pointwise_table.h"
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace rl::ops {

extern const Op<Tensor(Tensor, Tensor)> complex_op;  // of real and imaginary parts

constexpr uint32_t kAllForms = Function | Method | Inplace | Out;

// A function of one tensor; integers become the default float unless told otherwise.
inline Op<Tensor(Tensor)> unary(const char* name, const kernels::Pointwise& kernel,
                                const char* doc, Promote promotion = Promote::Float) {
  return define<Tensor(Tensor)>(text(name, "(Tensor self) -> Tensor"))
      .doc(doc)
      .forms(kAllForms)
      .pointwise(kernel, promotion);
}
// A function of two tensors; C++ may pass a number for the second.
inline Op<Tensor(Tensor, Tensor)> binary(const char* name, const kernels::Pointwise& kernel,
                                         const char* doc, Promote promotion = Promote::Default) {
  return define<Tensor(Tensor, Tensor)>(text(name, "(Tensor self, Tensor other) -> Tensor"))
      .doc(doc)
      .forms(kAllForms)
      .pointwise(kernel, promotion);
}

// Its overload for a number.
inline Op<Tensor(Tensor, Scalar)> with_number(const char* name, const kernels::Pointwise& kernel,
                                              const char* doc,
                                              Promote promotion = Promote::Default) {
  return define<Tensor(Tensor, Scalar)>(text(name, ".Scalar(Tensor self, Scalar other) -> Tensor"))
      .doc(doc)
      .forms(kAllForms)
      .number("other")
      .pointwise(kernel, promotion);
}

// A gradient only where the condition holds (or does not), exactly zero elsewhere.
inline Tensor keep_where(const Tensor& condition, const Tensor& grad) {
  return where(condition, grad, Scalar(0));
}
inline Tensor zero_where(const Tensor& condition, const Tensor& grad) {
  return where(condition, Scalar(0), grad);
}

// The gradient of what jumps but never slopes.
inline constexpr auto flat = [](const Tensor& grad) { return zeros_like(grad); };

// The largest finite number of a floating dtype.
inline double largest(DType t) {
  switch (real_of(t)) {
    case DType::Float: return 3.4028234663852886e38;
    case DType::Half: return 65504;
    case DType::BFloat16: return 3.3895313892515355e38;
    default: return 1.7976931348623157e308;
  }
}

}  // namespace rl::ops
