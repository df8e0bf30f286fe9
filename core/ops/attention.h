// What attention and recurrent layers drop out with, and a softmax for masked scores.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

// Zeros with probability p, 1 / (1 - p) otherwise, shaped like t: multiply by it.
extern const Op<Tensor(Tensor, double)> dropout_noise;

// Softmax along a dimension, zeros where all of a row is -inf.
extern const Op<Tensor(Tensor, int64_t, MaybeDType)> safe_softmax;

}  // namespace rl::ops
