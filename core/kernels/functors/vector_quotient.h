// Division with remainder for registers of floats and doubles (levels with a fused product only).
#pragma once
#include "kernels/vec.h"

namespace rl::kernels {
// C's fmod over a few numbers, into x: what quotients beyond the registers' reach take.
void fmod_items(float* x, const float* y, int n);
void fmod_items(double* x, const double* y, int n);
}  // namespace rl::kernels

namespace rl::kernels::RL_LEVEL_NAMESPACE {

// a - trunc(a / b) b. Below `most` the rounded quotient is at most one too large, and both the
// product's difference and the repair are exact.
template <class T> RL_INLINE Vec<T> float_rest(Vec<T> a, Vec<T> b) {
  using V = Vec<T>;
  const V most(T(sizeof(T) == 4 ? 4194304.0 : 2251799813685248.0));
  const V q = trunc(a / b);
  V r = fma(-q, b, a);
  r = select(nonzero(r) & (signbit(r) ^ signbit(a)), r + copysign(b, a), r);
  r = select(isinf(b) & isfinite(a), a, copysign(r, a));
  const auto large = abs(q) >= most;
  if (__builtin_expect(any(large), 0)) {
    T x[V::size], y[V::size];
    a.store((char*)x);
    b.store((char*)y);
    fmod_items(x, y, int(V::size));
    r = select(large, V::load((const char*)x), r);
  }
  return r;
}

template <class V> struct VectorFmod {
  RL_INLINE V operator()(V a, V b) const { return float_rest(a, b); }
};
template <class V> struct VectorRemainder {  // has the divisor's sign
  RL_INLINE V operator()(V a, V b) const {
    const V r = float_rest(a, b);
    return select(nonzero(r) & (signbit(r) ^ signbit(b)), r + b, r);
  }
};
template <class V> struct VectorDivFloor {  // consistent with the remainder, as in Python
  RL_INLINE V operator()(V a, V b) const {
    using T = typename V::Element;
    const V zero(T(0)), one(T(1)), plain = a / b, r = float_rest(a, b);
    V q = (a - r) / b;
    q = select(nonzero(r) & (signbit(r) ^ signbit(b)), q - one, q);
    const V f = floor(q);
    const V y = select(q - f > V(T(0.5)), f + one, f);
    return select(b == zero, plain, select(q == zero, copysign(zero, plain), y));
  }
};

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
