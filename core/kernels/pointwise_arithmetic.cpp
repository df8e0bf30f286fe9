// The kernels of the arithmetic family and their loops over integers, bool and complex numbers.
#include "kernels/base_loop.h"
#include "kernels/functors/arithmetic.h"

namespace rl::kernels {
RL_ARITHMETIC(RL_DEFINE_WIDE_POINTWISE)
}  // namespace rl::kernels
