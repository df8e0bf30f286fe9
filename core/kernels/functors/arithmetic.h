// Functors of arithmetic: sums, products, quotients, their integer kinds, extrema, signs.
#pragma once
#include "kernels/functors/scalar.h"

namespace rl::kernels::fn {

template <class V> struct Add {  // self + alpha * other
  V alpha;
  explicit RL_FN Add(const Scalar* p) : alpha(number(p[0], V())) {}
  RL_FN V operator()(V a, V b) const { return fma(alpha, b, a); }
};
template <class V> struct Sub {
  V minus_alpha;
  explicit RL_FN Sub(const Scalar* p) : minus_alpha(number(-p[0], V())) {}
  RL_FN V operator()(V a, V b) const { return fma(minus_alpha, b, a); }
};
template <class V> struct Rsub {
  V minus_alpha;
  explicit RL_FN Rsub(const Scalar* p) : minus_alpha(number(-p[0], V())) {}
  RL_FN V operator()(V a, V b) const { return fma(minus_alpha, a, b); }
};
template <class V> struct Mul {
  RL_FN V operator()(V a, V b) const { return times(a, b); }
};
template <class V> struct Div {
  RL_FN V operator()(V a, V b) const { return over(a, b); }
};
template <class V> struct Neg {
  RL_FN V operator()(V a) const {
    if constexpr (is_integer<V>) return minus(V(0), a);
    else return -a;
  }
};
template <class V> struct Abs {
  RL_FN auto operator()(V a) const {
    if constexpr (is_complex_number<V>) return std::abs(a);
    else return abs(a);
  }
};

}  // namespace rl::kernels::fn
