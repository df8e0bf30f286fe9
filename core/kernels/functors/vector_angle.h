// Angles and lengths in the plane for registers, and the inverse circular functions of doubles
// (levels with a fused product only). Polynomials as in vector_math.h.
#pragma once
#include "kernels/functors/vector_doubles.h"
#include "kernels/functors/vector_math.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {

// (atan(q) - q) / q^3 by z = q^2 for q up to 1: to 2^-60, and to 2^-33, which floats ask for.
template <bool floats> RL_INLINE Vec<double> arc_tail(Vec<double> z) {
  using V = Vec<double>;
  if constexpr (floats) {
    return polynomial(z, V(-0.33333333326944142), V(0.19999998154086215), V(-0.14285624891483526),
                      V(0.11109392308322223), V(-0.090735531189764087), V(0.075866528336466699),
                      V(-0.062463151941283169), V(0.047294798621813337), V(-0.02991311194551696),
                      V(0.01407292334469724), V(-0.0042216579909296478),
                      V(0.00059304375563652819));
  } else {
    return polynomial(
        z, V(-0.3333333333333333325), V(0.1999999999999991932), V(-0.1428571428570123335),
        V(0.1111111111026829734), V(-0.0909090906193527995), V(0.07692307078827029261),
        V(-0.06666657934573767841), V(0.05882264416776448826), V(-0.05262492229025675314),
        V(0.04758080083637820624), V(-0.04330653843067066253), V(0.03938687540798632127),
        V(-0.0352713310668712941), V(0.03033071926579050659), V(-0.02419134581014071864),
        V(0.01718398172211334808), V(-0.01041215326035924155), V(0.005140912856746938716),
        V(-0.001961255427168532599), V(0.0005376839297396244721),
        V(-0.00009371186345052625429), V(7.767624330289918554e-6));
  }
}

// atan2(y, x): the arc of the smaller over the larger, with what rounding took off the quotient,
// and its place among the eight parts of the circle. Off by 1.2 units in the last place
// at most, for floats by 0.501.
template <bool floats> RL_INLINE Vec<double> angle_of(Vec<double> y, Vec<double> x) {
  using V = Vec<double>;
  const V a = abs(y), b = abs(x), zero(0.0);
  const auto steep = a > b, left = signbit(x);
  const V top = select(steep, b, a), base = select(steep, a, b);
  const V q = select(top == base, select(base == zero, zero, V(1.0)), top / base);
  const V z = q * q;
  V rest = q * z * arc_tail<floats>(z);
  if constexpr (!floats) {
    const V lost = fma(-q, base, top) / base;
    // Of numbers near the ends of the range, nothing exact is known; of equal ones nothing is lost.
    const auto known = (top > V(1e-250)) & (base < V(1e300)) & (top != base);
    rest = rest + select(known, lost * (V(1.0) - z * V(0.5)), zero);
  }
  const auto turned = steep ^ left;
  const V start = select(steep, V(1.5707963267948966), select(left, V(3.141592653589793), zero));
  const V start_low = select(steep, V(6.123233995736766e-17),
                             select(left, V(1.2246467991473532e-16), zero));
  const V arc = q + rest;
  const V angle = start + (select(turned, -arc, arc) + start_low);
  return select(isnan(x) | isnan(y), nan_of(x), copysign(angle, y));
}

// The root of x^2 + y^2, of numbers scaled by a power of two that keeps their squares in range,
// with what rounding took off: C. Borges, ACM Trans. Math. Softw. 47 (2020).
RL_INLINE Vec<double> length_of(Vec<double> x, Vec<double> y) {
  using V = Vec<double>;
  const V a = abs(x), b = abs(y), zero(0.0);
  const V most = select(a > b, a, b), least = select(a > b, b, a);
  const auto huge = most > V(1e150), tiny = most < V(1e-150);
  const V down(0x1p-600), up(0x1p600), one(1.0);
  const V by = select(huge, down, select(tiny, up, one));
  const V back = select(huge, up, select(tiny, down, one));
  const V m = most * by, n = least * by, squares = m * m;
  const V h = sqrt(fma(n, n, squares)), rooted = h * h;
  const V lost = fma(-n, n, rooted - squares) + (fma(h, h, -rooted) - fma(m, m, -squares));
  const V length = (h - select(h > zero, lost / (h + h), zero)) * back;
  const V limits = select(isinf(x) | isinf(y), infinity_of(x), x + y);  // or NaN
  return select(most < infinity_of(x), select(isnan(x) | isnan(y), x + y, length), limits);
}

template <class V> struct VectorAtan2;
template <> struct VectorAtan2<Vec<float>> {
  RL_INLINE Vec<float> operator()(Vec<float> y, Vec<float> x) const {
    return floats_of(angle_of<true>(low_doubles(y), low_doubles(x)),
                     angle_of<true>(high_doubles(y), high_doubles(x)));
  }
};
template <> struct VectorAtan2<Vec<double>> {
  RL_INLINE Vec<double> operator()(Vec<double> y, Vec<double> x) const {
    return angle_of<false>(y, x);
  }
};

template <class V> struct VectorHypot;
template <> struct VectorHypot<Vec<float>> {
  static RL_INLINE Vec<double> length(Vec<double> x, Vec<double> y) {
    return sqrt(fma(x, x, y * y));  // squares of floats are exact, and in range
  }
  RL_INLINE Vec<float> operator()(Vec<float> x, Vec<float> y) const {
    const Vec<float> r = floats_of(length(low_doubles(x), low_doubles(y)),
                                   length(high_doubles(x), high_doubles(y)));
    return select(isinf(x) | isinf(y), infinity_of(x), r);
  }
};
template <> struct VectorHypot<Vec<double>> {
  RL_INLINE Vec<double> operator()(Vec<double> x, Vec<double> y) const { return length_of(x, y); }
};

// The inverse functions of doubles, as angles of points on the unit circle: off by 1.5 units in the
// last place at most.
RL_INLINE Vec<double> across(Vec<double> x) {
  const Vec<double> one(1.0);
  return sqrt((one - x) * (one + x));
}
template <class V> struct VectorAsin {
  RL_INLINE V operator()(V x) const { return angle_of<false>(x, across(x)); }
};
template <class V> struct VectorAcos {
  RL_INLINE V operator()(V x) const { return angle_of<false>(across(x), x); }
};
template <class V> struct VectorAtan {
  RL_INLINE V operator()(V x) const { return angle_of<false>(x, V(1.0)); }
};

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
