// Views in place that composites end with, as PyTorch's do.
#pragma once
#include "ops/record.h"

namespace rl::ops {

extern const Op<Tensor(Tensor, int64_t, int64_t)> transpose_;
extern const Op<Tensor(Tensor, int64_t)> unsqueeze_, squeeze_dim_;

}  // namespace rl::ops
