// The loops of powers, angles and lengths, for levels with a fused product.
#if RL_LEVEL > 0
#include "kernels/functors/vector_angle.h"
#include "kernels/functors/vector_gamma.h"
#include "kernels/functors/vector_power.h"
#include "kernels/level_loop.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {

#define RL_FUSED_LOOP(function, functor, T, arity)                                            \
  void function(char* const* data, const int64_t* strides, int64_t n, const Scalar* params) { \
    pointwise_loop<functor<Vec<T>>, T, arity, Output::Same, false, &function>(                \
        data, strides, n, params);                                                            \
  }
RL_FUSED_LOOP(pow__float, VectorPow, float, 2)
RL_FUSED_LOOP(pow__double, VectorPow, double, 2)
RL_FUSED_LOOP(atan2__float, VectorAtan2, float, 2)
RL_FUSED_LOOP(atan2__double, VectorAtan2, double, 2)
RL_FUSED_LOOP(hypot__float, VectorHypot, float, 2)
RL_FUSED_LOOP(hypot__double, VectorHypot, double, 2)
RL_FUSED_LOOP(asin__double, VectorAsin, double, 1)
RL_FUSED_LOOP(acos__double, VectorAcos, double, 1)
RL_FUSED_LOOP(atan__double, VectorAtan, double, 1)
RL_FUSED_LOOP(lgamma__float, VectorLgamma, float, 1)

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
#endif
