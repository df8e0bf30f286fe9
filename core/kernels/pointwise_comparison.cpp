// The kernels of the comparison family and their loops over integers, bool and complex numbers.
#include "kernels/base_loop.h"
#include "kernels/functors/comparison.h"

namespace rl::kernels {
RL_COMPARISONS(RL_DEFINE_WIDE_POINTWISE)
RL_DEFINE_KERNEL(where, Where, "where_cpu", 3, Same, 1,
                 kAny | kComplexHalf | kWideUnsigned | kFloat8, true)
}  // namespace rl::kernels
