// What attention and recurrent layers drop out with.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

// Zeros with probability p, 1 / (1 - p) otherwise, shaped like t: multiply by it.
extern const Op<Tensor(Tensor, double)> dropout_noise;

}  // namespace rl::ops
