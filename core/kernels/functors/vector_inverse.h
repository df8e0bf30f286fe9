// Inverse circular functions, the complementary and the inverse error function, for registers of
// floats (included by levels only). Polynomials as in vector_math.h.
#pragma once
#include "kernels/functors/vector_trigonometry.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {

// By the arcs at pi/4 and pi/2: the rest has a tangent of at most tan(pi/8).
RL_INLINE Vec<float> atan(Vec<float> x) {
  using V = Vec<float>;
  const V a = abs(x), one(1.0f);
  const auto middle = a > V(0.4142135624f), high = a > V(2.414213562f);
  const V top = select(high, -one, select(middle, a - one, a));
  const V t = top / select(high, a, select(middle, a + one, one));
  const V arc = select(high, V(1.57079637f), select(middle, V(0.785398185f), V(0.0f)));
  const V arc_low = select(high, V(-4.371139e-8f), select(middle, V(-2.1855695e-8f), V(0.0f)));
  const V z = t * t;
  const V p = polynomial(z, V(-0.3333333176f), V(0.1999953923f), V(-0.1426391227f),
                         V(0.1074326338f), V(-0.06450377352f));
  return copysign(arc + fma(t * z, p, t + arc_low), x);
}

// asin(s) for s up to 1/2 itself, beyond as pi/2 - 2 asin(sqrt((1 - s) / 2)).
struct HalfArc { Vec<float> arc, s, more; Vec<float>::Bits large; };  // arc = s + more
RL_INLINE HalfArc half_arc(Vec<float> a) {
  using V = Vec<float>;
  const auto large = a > V(0.5f);
  const V z = select(large, (V(1.0f) - a) * V(0.5f), a * a);
  const V s = select(large, sqrt(z), a);
  const V p = polynomial(z, V(0.1666666634f), V(0.07500094543f), V(0.04459940153f),
                         V(0.03110066274f), V(0.01714923836f), V(0.0336908472f));
  const V more = s * z * p;
  return {s + more, s, more, large};
}
RL_INLINE Vec<float> asin(Vec<float> x) {
  using V = Vec<float>;
  const V a = abs(x), z = (V(1.0f) - a) * V(0.5f);
  const HalfArc h = half_arc(a);
  // What the root's rounding took off, too: the difference doubles it.
  const V lost = fma(-h.s, h.s, z) / (h.s + h.s + V(1e-30f));
  const V rest = h.more + lost;
  const V y = (V(1.57079637f) - (h.s + h.s)) - (rest + rest + V(4.371139e-8f));
  return copysign(select(h.large, y, h.arc), x);
}
RL_INLINE Vec<float> acos(Vec<float> x) {
  using V = Vec<float>;
  const HalfArc h = half_arc(abs(x));
  const V twice = h.arc + h.arc;
  const V beyond = select(signbit(x), V(3.14159274f) - (twice + V(8.742278e-8f)), twice);
  const V near = V(1.57079637f) - (copysign(h.arc, x) + V(4.371139e-8f));
  return select(h.large, beyond, near);
}

// exp(-x^2) times a polynomial in (x - 5/2) / (x + 5/2) over 1 + 2x: M. Shepherd and J.
// Laframboise, Math. Comp. 36 (1981). x^2 is taken in two parts, of which the first is exact.
// Near 0, 1 - erf.
RL_INLINE Vec<float> erfc(Vec<float> x) {
  using V = Vec<float>;
  const V a = least_of(V(10.2f), abs(x));
  const V t = (a - V(2.5f)) / (a + V(2.5f));
  const V first(1.264838182f);
  const V more = t * polynomial(t, V(-0.1223566896f), V(-0.09902428973f), V(0.157627594f),
                                V(-0.1029724524f), V(0.03277981796f), V(0.0009754795357f),
                                V(-0.004430413186f), V(0.0003453179916f), V(0.0006279935593f),
                                V(8.606144972e-5f));
  const V head = V::of_bits(a.bits() & ~V::Int(0xfff));
  const V low = (a - head) * (a + head);
  const V rest = low * polynomial(low, V(-1.0f), V(0.5f), V(-0.1666666667f), V(0.04166666667f));
  // What rounding takes off the sums, the quotient and its product is put back at the end.
  const V f = first + more, d = fma(a, V(2.0f), V(1.0f)), q = f / d;
  const V lost = (fma(-q, d, f) + ((first - f) + more) - q * (fma(a, V(2.0f), V(1.0f) - d))) / d;
  const V e = exp(-(head * head)), whole = e * q;
  const V tail = whole + (fma(e, q, -whole) + e * fma(q, rest, lost));
  const V middle = V(1.0f) - fma(x, CircularCoefficients<float>::erf_small(x * x), x);
  return select(a < V(0.3f), middle, select(signbit(x), V(2.0f) - tail, tail));
}

// An odd polynomial up to 3/4; beyond, by w = -log(1 - x^2), near the ends by its root: M. Giles,
// GPU Computing Gems (2012), with other polynomials.
RL_INLINE Vec<float> inverse_erf(Vec<float> x) {
  using V = Vec<float>;
  const V a = abs(x), one(1.0f);
  const V w = -log((one - a) * (one + a));
  const V u = w - V(2.5f), v = sqrt(w) - V(3.0f);
  // All but a first part, whose product with x is not rounded.
  const V middle = polynomial(u, V(0.001409351f), V(0.2466402894f), V(-0.004177320041f),
                              V(-0.001252748503f), V(0.000218257724f), V(-4.959691794e-6f),
                              V(-3.423414274e-6f), V(4.654174105e-7f), V(1.598430613e-8f),
                              V(-8.739010703e-9f), V(4.671932509e-10f));
  const V end = polynomial(v, V(0.082976829f), V(1.001674812f), V(0.009443841615f),
                           V(-0.007634916291f), V(0.005698250646f), V(-0.003609041386f),
                           V(0.00145719104f), V(-3.234715415e-5f), V(-0.0002879002297f),
                           V(9.712747568e-5f));
  const V z = x * x;
  const V tail = polynomial(z, V(0.2320136627f), V(0.1275575419f), V(0.08647302062f),
                            V(0.06671496426f), V(0.03223231647f), V(0.1649296598f),
                            V(-0.4164514829f), V(1.026694998f), V(-1.18639719f),
                            V(0.68587311f));
  const V near = fma(x, V(0.88622695f), x * fma(z, tail, V(-2.662320024e-8f)));
  const auto inner = w < V(5.0f);
  const V far = fma(x, select(inner, V(1.5f), V(2.75f)), x * select(inner, middle, end));
  const V y = select(a < V(0.75f), near, far);
  return select(a == one, copysign(infinity_of(x), x), y);
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
