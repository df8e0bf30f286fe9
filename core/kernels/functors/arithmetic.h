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

template <class V> struct Sign {  // NaN has the sign 0
  RL_FN V operator()(V a) const {
    if constexpr (is_integer<V>) return V((a > V(0)) - (a < V(0)));
    else return select(a > V(0), V(1), select(a < V(0), V(-1), V(0)));
  }
};
template <class V> struct Sgn {
  RL_FN V operator()(V a) const {
    if constexpr (is_complex_number<V>) return a == V(0) ? V(0) : a / std::abs(a);
    else return Sign<V>()(a);
  }
};
template <class V> struct Angle {
  RL_FN auto operator()(V a) const {
    if constexpr (is_complex_number<V>) return std::arg(a);
    else return select(isnan(a), a, select(a < V(0), V(3.14159265358979323846), V(0)));
  }
};
template <class V> struct ConjPhysical {
  RL_FN V operator()(V a) const { return conjugate(a); }
};
template <class V> struct Square {
  RL_FN V operator()(V a) const { return times(a, a); }
};
template <class V> struct Cube {
  RL_FN V operator()(V a) const { return a * a * a; }
};
template <class V> struct InverseSquare {
  RL_FN V operator()(V a) const { return V(1) / (a * a); }
};
// The same where x^2 is a bfloat16 as well: PyTorch rounds each product of that dtype.
template <class V> struct CubeBFloat16 {
  RL_FN V operator()(V a) const { return as_bfloat16(a * a) * a; }
};
template <class V> struct InverseSquareBFloat16 {
  RL_FN V operator()(V a) const { return V(1) / as_bfloat16(a * a); }
};
template <class V> struct Reciprocal {
  RL_FN V operator()(V a) const { return over(V(1), a); }
};
template <class V> struct Maximum {
  RL_FN V operator()(V a, V b) const { return larger(a, b); }
};
template <class V> struct Minimum {
  RL_FN V operator()(V a, V b) const { return smaller(a, b); }
};
template <class V> struct Fmax {  // a number beats NaN
  RL_FN V operator()(V a, V b) const {
    if constexpr (is_integer<V>) return larger(a, b);
    else return select(isnan(a) | (b > a), b, a);
  }
};
template <class V> struct Fmin {
  RL_FN V operator()(V a, V b) const {
    if constexpr (is_integer<V>) return smaller(a, b);
    else return select(isnan(a) | (b < a), b, a);
  }
};
template <class V> struct Clamp {  // min, max; where min > max, max
  V least, most;
  explicit RL_FN Clamp(const Scalar* p) : least(number(p[0], V())), most(number(p[1], V())) {}
  RL_FN V operator()(V x) const { return smaller(most, larger(least, x)); }
};
template <class V> struct ClampMin {
  V least;
  explicit RL_FN ClampMin(const Scalar* p) : least(number(p[0], V())) {}
  RL_FN V operator()(V x) const { return larger(least, x); }
};
template <class V> struct ClampMax {
  V most;
  explicit RL_FN ClampMax(const Scalar* p) : most(number(p[0], V())) {}
  RL_FN V operator()(V x) const { return smaller(most, x); }
};
template <class V> struct ClampTensor {
  RL_FN V operator()(V x, V least, V most) const { return smaller(most, larger(least, x)); }
};
template <class V> struct Addcmul {  // self + value * tensor1 * tensor2
  V value;
  explicit RL_FN Addcmul(const Scalar* p) : value(number(p[0], V())) {}
  RL_FN V operator()(V a, V b, V c) const { return plus(a, times(times(value, b), c)); }
};
template <class V> struct Addcdiv {
  V value;
  explicit RL_FN Addcdiv(const Scalar* p) : value(number(p[0], V())) {}
  RL_FN V operator()(V a, V b, V c) const { return plus(a, over(times(value, b), c)); }
};
// Exact at both ends, and monotonic between: from whichever end is nearer.
template <class V> RL_FN V interpolate(V a, V b, V weight) {
  const V difference = b - a;
  const V low = fma(weight, difference, a), high = b - times(difference, V(1) - weight);
  if constexpr (is_complex_number<V>) return std::norm(weight) < 0.25 ? low : high;
  else return select(abs(weight) < V(0.5), low, high);
}
template <class V> struct Lerp {
  V weight;
  explicit RL_FN Lerp(const Scalar* p) : weight(number(p[0], V())) {}
  RL_FN V operator()(V a, V b) const { return interpolate(a, b, weight); }
};
template <class V> struct LerpTensor {
  RL_FN V operator()(V a, V b, V weight) const { return interpolate(a, b, weight); }
};
template <class V> struct Copysign {
  RL_FN V operator()(V a, V b) const { return copysign(a, b); }
};
template <class V> struct Heaviside {
  RL_FN V operator()(V a, V b) const {
    if constexpr (is_integer<V>) return a == V(0) ? b : V(a > V(0));
    else return select(a == V(0), b, select(a > V(0), V(1), V(0)));
  }
};

}  // namespace rl::kernels::fn
