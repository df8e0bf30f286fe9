// The kernels of the losses.
#include "kernels/base_loop.h"
#include "kernels/functors/loss.h"

namespace rl::kernels {
RL_LOSSES(RL_DEFINE_POINTWISE)
}  // namespace rl::kernels
