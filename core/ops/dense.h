// Inputs as kernels over dense memory take them: contiguous, or a copy that is.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

// Inside kernels: no graph, no event. Undefined stays undefined.
inline Tensor dense(const Tensor& t) {
  if (!t || t.is_contiguous()) return t;
  const Tensor copy = empty(t.sizes(), t.dtype());
  copy_data(copy, t);
  return copy;
}

inline void* data_or_null(const Tensor& t) { return t ? t.data() : nullptr; }

}  // namespace rl::ops
