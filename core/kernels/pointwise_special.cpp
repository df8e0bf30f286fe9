// The kernels of functions without vector code, or with some for floats only.
#include "kernels/base_loop.h"
#include "kernels/functors/special.h"

namespace rl::kernels {

// A kernel as described, with the float loops of the levels where there are any.
template <class Kernel> constexpr Pointwise with_float_loops(Kernel*, Pointwise p) { return p; }
#if defined(__x86_64__)
#define RL_SET_LEVELS(object) \
  p.avx2[0] = level1::object##_float; \
  p.avx512[0] = level2::object##_float;
#else
#define RL_SET_LEVELS(object)
#endif
#define RL_FLOAT_LOOPS(object)                                                 \
  RL_DECLARE_LEVELS(object)                                                    \
  constexpr Pointwise with_float_loops(struct object##_kernel*, Pointwise p) { \
    p.baseline[int(DType::Float)] = level0::object##_float;                    \
    RL_SET_LEVELS(object)                                                      \
    return p;                                                                  \
  }
RL_FLOAT_LOOPS(asin_) RL_FLOAT_LOOPS(acos_) RL_FLOAT_LOOPS(atan_) RL_FLOAT_LOOPS(erfc_)
RL_FLOAT_LOOPS(erfinv)

#define RL_DEFINE_SPECIAL(object, functor, name, arity, output, flops, types)                  \
  struct object##_kernel;                                                                      \
  constinit const Pointwise object = with_float_loops(                                         \
      static_cast<object##_kernel*>(nullptr),                                                  \
      describe<fn::functor, arity, Output::output, false, (types)>(                            \
          name, flops, base_loop_if<fn::functor, float, arity, Output::output, false, (types)>(), \
          base_loop_if<fn::functor, double, arity, Output::output, false, (types)>()));
RL_SPECIALS(RL_DEFINE_SPECIAL)

}  // namespace rl::kernels
