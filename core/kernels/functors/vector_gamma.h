// The logarithm of gamma for registers of floats (levels with a fused product only).
#pragma once
#include "kernels/functors/vector_doubles.h"
#include "kernels/functors/vector_trigonometry.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {

// log gamma(x) in doubles, for floats x > 0: Stirling's series from 8 on, below 8 with the product
// x (x + 1) ... (x + 7); beside its zeros at 1 and 2, where that cancels, by its series there.
RL_INLINE Vec<double> log_gamma_of_positive(Vec<double> x) {
  using V = Vec<double>;
  const V eight(8.0), one(1.0);
  const auto small = x < eight;
  // (x + k)(x + 7 - k) = (x^2 + 7x) + k (7 - k)
  const V u = x * (x + V(7.0));
  const V product = (u * (u + V(6.0))) * ((u + V(10.0)) * (u + V(12.0)));
  const V w = select(small, x + eight, x), z = one / w;
  const V series = z * polynomial(z * z, V(0.083333333333333333), V(-0.0027777777777777778),
                                  V(0.00079365079365079365), V(-0.00059523809523809524));
  const V whole = fma(w - V(0.5), log(w), (V(0.91893853320467274) - w) + series);
  const V y = whole - log(select(small, product, one));
  const auto second = x > V(1.5);
  const V d = x - select(second, V(2.0), one);
  const auto c = [&](double at_one, double at_two) RL_INLINE_LAMBDA {
    return select(second, V(at_two), V(at_one));
  };
  const V slope = polynomial(d, c(-0.577215664901532861, 0.422784335098467139),
                             c(0.822467033424113218, 0.322467033424113218),
                             c(-0.400685634386531428, -0.0673523010531980951),
                             c(0.270580808427784548, 0.0205808084277845479),
                             c(-0.207385551028673985, -0.00738555102867398527));
  const V beside = fma(d, slope, V(0.0));  // 0, not -0, at the zeros
  return select(abs(d) < V(0.0078125), beside, y);
}

template <class V> struct VectorLgamma;
template <> struct VectorLgamma<Vec<float>> {
  using V = Vec<double>;
  // Left of 0 by the reflection gamma(x) gamma(1 - x) = pi / sin(pi x).
  static RL_INLINE V log_gamma(V x) {
    const auto negative = x < V(0.0);
    V y = log_gamma_of_positive(select(negative, V(1.0) - x, x));
    if (any(negative)) {
      const V part = abs(x - round(x));
      y = select(negative, log(V(3.14159265358979324) / sin(part * V(3.14159265358979324))) - y, y);
    }
    return select(isinf(x), infinity_of(x), y);
  }
  RL_INLINE Vec<float> operator()(Vec<float> x) const {
    return floats_of(log_gamma(low_doubles(x)), log_gamma(high_doubles(x)));
  }
};

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
