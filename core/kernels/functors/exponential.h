// Functors of exponentials, logarithms, roots and hyperbolic functions.
#pragma once
#include "kernels/functors/scalar.h"

namespace rl::kernels::fn {

template <class V> struct Exp { RL_FN V operator()(V x) const { return exp(x); } };
template <class V> struct Log { RL_FN V operator()(V x) const { return log(x); } };
template <class V> struct Sqrt { RL_FN V operator()(V x) const { return sqrt(x); } };
template <class V> struct Tanh { RL_FN V operator()(V x) const { return tanh(x); } };
template <class V> struct Sigmoid {
  RL_FN V operator()(V x) const {
    if constexpr (is_complex_number<V>) return over(V(1), V(1) + exp(-x));
    else return V(1) / (V(1) + exp(-x));
  }
};

}  // namespace rl::kernels::fn
