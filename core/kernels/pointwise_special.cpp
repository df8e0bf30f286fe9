// The kernels of functions without vector code, or with some at a few levels or dtypes only.
#include "kernels/base_loop.h"
#include "kernels/functors/special.h"

namespace rl::kernels {

// A kernel as described, with the loops of the levels where there are any.
template <class Kernel> constexpr Pointwise with_vectors(Kernel*, Pointwise p) { return p; }
#if defined(__x86_64__)
#define RL_FUSED(object, T, slot) \
  p.avx2[slot] = level1::object##_##T; \
  p.avx512[slot] = level2::object##_##T;
#else
#define RL_FUSED(object, T, slot)
#endif
#define RL_FLOATS(object) \
  p.baseline[int(DType::Float)] = level0::object##_float; \
  RL_FUSED(object, float, 0)
#define RL_VECTORS(object, loops)                                          \
  RL_DECLARE_LEVELS(object)                                                \
  constexpr Pointwise with_vectors(struct object##_kernel*, Pointwise p) { \
    loops return p;                                                        \
  }
#define RL_INVERSE(object) RL_VECTORS(object, RL_FLOATS(object) RL_FUSED(object, double, 1))
#define RL_PLANE(object) RL_VECTORS(object, RL_FUSED(object, float, 0) RL_FUSED(object, double, 1))
RL_INVERSE(asin_) RL_INVERSE(acos_) RL_INVERSE(atan_)
RL_VECTORS(erfc_, RL_FLOATS(erfc_)) RL_VECTORS(erfinv, RL_FLOATS(erfinv))
RL_PLANE(atan2_) RL_PLANE(hypot_)
RL_VECTORS(lgamma_, RL_FUSED(lgamma_, float, 0))

#define RL_DEFINE_SPECIAL(object, functor, name, arity, output, flops, types)                  \
  struct object##_kernel;                                                                      \
  constinit const Pointwise object = with_vectors(                                             \
      static_cast<object##_kernel*>(nullptr),                                                  \
      describe<fn::functor, arity, Output::output, false, (types)>(                            \
          name, flops, base_loop_if<fn::functor, float, arity, Output::output, false, (types)>(), \
          base_loop_if<fn::functor, double, arity, Output::output, false, (types)>()));
RL_SPECIALS(RL_DEFINE_SPECIAL)

}  // namespace rl::kernels
