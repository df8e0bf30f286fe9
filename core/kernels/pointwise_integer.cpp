// The kernels of division with remainder, powers and bits.
#include "kernels/base_loop.h"
#include "kernels/functors/integer.h"

namespace rl::kernels {
RL_INTEGERS(RL_DEFINE_SCALAR_POINTWISE)
}  // namespace rl::kernels
