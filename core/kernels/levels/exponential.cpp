// Float and double loops of the exponential family, once per vector level.
#include "kernels/functors/exponential.h"
#include "kernels/functors/vector_trigonometry.h"
#include "kernels/level_loop.h"
#include "kernels/pointwise_table.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
RL_EXPONENTIALS(RL_LEVEL_LOOPS)
}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
