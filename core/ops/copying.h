// The copies and fills that few files call.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

extern const Op<Tensor(Tensor, Scalar)> fill_;

}  // namespace rl::ops
