// The loop of powers over floats, for levels with a fused product.
#include "kernels/functors/vector_power.h"
#include "kernels/level_loop.h"

#if RL_LEVEL > 0
namespace rl::kernels::RL_LEVEL_NAMESPACE {

void pow__float(char* const* data, const int64_t* strides, int64_t n, const Scalar* params) {
  pointwise_loop<VectorPow<Vec<float>>, float, 2, Output::Same, false, &pow__float>(
      data, strides, n, params);
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
#endif
