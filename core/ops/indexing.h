// The index ops that few files call.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

extern const Op<Tensors(Tensor)> nonzero_numpy;

}  // namespace rl::ops
