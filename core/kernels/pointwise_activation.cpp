// The kernels of the activation family and their loops over integers, bool and complex numbers.
#include "kernels/base_loop.h"
#include "kernels/functors/activation.h"

namespace rl::kernels {
RL_ACTIVATIONS(RL_DEFINE_POINTWISE)
}  // namespace rl::kernels
