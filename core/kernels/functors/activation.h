// Functors of activations and of their derivatives.
#pragma once
#include "kernels/functors/scalar.h"

namespace rl::kernels::fn {

template <class V> struct Relu {  // NaN stays NaN
  RL_FN V operator()(V x) const { return select(x < V(0), V(0), x); }
};

}  // namespace rl::kernels::fn
