// Float and double loops of the arithmetic family, once per vector level.
#include "kernels/functors/arithmetic.h"
#include "kernels/functors/vector_math.h"
#include "kernels/level_loop.h"
#include "kernels/pointwise_table.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
RL_ARITHMETIC(RL_LEVEL_LOOPS)
}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
