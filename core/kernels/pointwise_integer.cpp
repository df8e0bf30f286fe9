// The kernels of division with remainder, powers and bits.
#include "kernels/base_loop.h"
#include "kernels/functors/integer.h"

namespace rl::kernels {

void fmod_items(float* x, const float* y, int n);
void fmod_items(double* x, const double* y, int n);
void fmod_items(float* x, const float* y, int n) {
  for (int i = 0; i < n; ++i) x[i] = std::fmod(x[i], y[i]);
}
void fmod_items(double* x, const double* y, int n) {
  for (int i = 0; i < n; ++i) x[i] = std::fmod(x[i], y[i]);
}

// A kernel as described, with the float and double loops of the levels where there are any.
template <class Kernel> constexpr Pointwise with_vectors(Kernel*, Pointwise p) { return p; }
#if defined(__x86_64__)
#define RL_VECTORS(object)                                                \
  RL_DECLARE_LEVELS(object)                                                 \
  constexpr Pointwise with_vectors(struct object##_kernel*, Pointwise p) { \
    return with_levels(p, RL_LEVELS_OF(object));                            \
  }
RL_VECTORS(fmod_) RL_VECTORS(remainder_) RL_VECTORS(div_floor) RL_VECTORS(pow_)
#endif

#define RL_DEFINE_INTEGER(object, functor, name, arity, output, flops, types)                  \
  struct object##_kernel;                                                                      \
  constinit const Pointwise object = with_vectors(                                           \
      static_cast<object##_kernel*>(nullptr),                                                  \
      describe<fn::functor, arity, Output::output, false, (types)>(                            \
          name, flops, base_loop_if<fn::functor, float, arity, Output::output, false, (types)>(), \
          base_loop_if<fn::functor, double, arity, Output::output, false, (types)>()));
RL_INTEGERS(RL_DEFINE_INTEGER)

#define RL_DEFINE_BITS(object, functor, name, arity, output, flops, types)                   \
  constinit const Pointwise object = with_wide<fn::functor, arity, Output::output, (types)>( \
      describe<fn::functor, arity, Output::output, false, (types)>(name, flops, nullptr, nullptr));
RL_BITS(RL_DEFINE_BITS)

}  // namespace rl::kernels
