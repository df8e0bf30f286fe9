// The kernels of the exponential family and their loops over integers, bool and complex numbers.
#include "kernels/base_loop.h"
#include "kernels/functors/exponential.h"

namespace rl::kernels {
RL_EXPONENTIALS(RL_DEFINE_POINTWISE)
}  // namespace rl::kernels
