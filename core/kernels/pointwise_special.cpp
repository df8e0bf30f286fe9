// The kernels of functions without vector code.
#include "kernels/base_loop.h"
#include "kernels/functors/special.h"

namespace rl::kernels {
RL_SPECIALS(RL_DEFINE_SCALAR_POINTWISE)
}  // namespace rl::kernels
