// Loops of division with remainder over floats and doubles, for levels with a fused product.
#include "kernels/functors/vector_quotient.h"
#include "kernels/level_loop.h"

#if RL_LEVEL > 0
namespace rl::kernels::RL_LEVEL_NAMESPACE {

#define RL_QUOTIENT(function, Functor, T)                                                      \
  void function(char* const* data, const int64_t* strides, int64_t n, const Scalar* params) {  \
    pointwise_loop<Functor<Vec<T>>, T, 2, Output::Same, false, &function>(data, strides, n,    \
                                                                          params);             \
  }
RL_QUOTIENT(fmod__float, VectorFmod, float)
RL_QUOTIENT(fmod__double, VectorFmod, double)
RL_QUOTIENT(remainder__float, VectorRemainder, float)
RL_QUOTIENT(remainder__double, VectorRemainder, double)
RL_QUOTIENT(div_floor_float, VectorDivFloor, float)
RL_QUOTIENT(div_floor_double, VectorDivFloor, double)

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
#endif
