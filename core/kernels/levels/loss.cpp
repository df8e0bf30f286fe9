// Float and double loops of the losses, once per vector level.
#include "kernels/functors/loss.h"
#include "kernels/functors/vector_math.h"
#include "kernels/level_loop.h"
#include "kernels/pointwise_table.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
RL_LOSSES(RL_LEVEL_LOOPS)
}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
