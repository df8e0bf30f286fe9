// What other files call of pooling.cpp.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

// (gradient, indices, input sizes, spatial dimensions, whether the result is to be in channels-last
// order): gradients at the places of maxima.
extern const Op<Tensor(Tensor, Tensor, Ints, int64_t, bool)> max_pool_backward;

}  // namespace rl::ops
