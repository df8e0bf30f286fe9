// Float and double loops of the comparison family, once per vector level.
#include "kernels/functors/comparison.h"
#include "kernels/functors/vector_math.h"
#include "kernels/level_loop.h"
#include "kernels/pointwise_table.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
RL_COMPARISONS(RL_LEVEL_LOOPS)
RL_LEVEL_LOOP(where_float, Where, float, 3, Same, true)
RL_LEVEL_LOOP(where_double, Where, double, 3, Same, true)
}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
