// Exponentials, logarithms and what follows from them, for registers (included by levels only).
#pragma once
#include "kernels/vec.h"

// Polynomials were fitted by interpolation at Chebyshev nodes in 60 digits (mpmath).
//
// Note [Accuracy]
// The largest errors seen, in units of the last place, float / double, over 10^5 / 600 random
// arguments of each of several ranges, against float64 and 120-bit values (mpmath), AVX2:
//   exp 1.1/1.1  exp2 1.1/0.9  expm1 1.7/1.6  log 0.8/0.7  log2 1.4/1.2  log10 1.9/1.2
//   log1p 0.8/0.7  tanh 2.3/1.9  sinh 2.1/1.8  cosh 1.4/1.0  sigmoid 2.1/1.8  erf 1.1/0.7
//   sin 1.5/1.2 and cos 1.7/1.4 (2.4 close to a zero)  tan 3.2/2.2
// The baseline of x86, which rounds twice where others fuse, stays within 0.2 of these. Results
// do not depend on the place of an element: short rests go through the same registers.
namespace rl::kernels::RL_LEVEL_NAMESPACE {

// c0 + c1 x + ... by Horner's rule on pairs, which halves the chain of dependent operations.
template <class V> RL_INLINE V polynomial_of(V, V, V c) { return c; }
template <class V> RL_INLINE V polynomial_of(V x, V, V c0, V c1) { return fma(x, c1, c0); }
template <class V, class... C>
RL_INLINE V polynomial_of(V x, V square, V c0, V c1, V c2, C... rest) {
  return fma(square, polynomial_of(x, square, c2, rest...), fma(x, c1, c0));
}
template <class V, class... C> RL_INLINE V polynomial(V x, C... c) {
  return polynomial_of(x, x * x, c...);
}

template <class T> struct Coefficients;
template <> struct Coefficients<float> {
  using V = Vec<float>;
  static constexpr float ln2_high = 0.693145751953125f, ln2_low = 1.42860682030941723212e-6f;
  static constexpr float exp_least = -104.0f, exp_most = 90.0f;
  static constexpr float log2e = 1.44269504f, log2e_low = 1.92596299e-8f;
  static constexpr float log10_2_high = 0.301025390625f, log10_2_low = 4.605038981195213739e-6f;
  static RL_INLINE V exp_tail(V r) {  // (exp(r) - 1 - r) / r^2 on [-0.35, 0.35]
    return polynomial(r, V(0.5f), V(0.1666657342f), V(0.04166655016f), V(0.008363767023f),
                      V(0.001392691806f));
  }
  static RL_INLINE V log_tail(V z) {  // (log((1+s)/(1-s)) - 2s) / s^3, z = s^2, s < 0.172
    return polynomial(z, V(0.6666668535f), V(0.3998865394f), V(0.2958568077f));
  }
};
template <> struct Coefficients<double> {
  using V = Vec<double>;
  static constexpr double ln2_high = 0.69314718036912381649, ln2_low = 1.9082149292705878161e-10;
  static constexpr double exp_least = -746.0, exp_most = 711.0;
  static constexpr double log2e = 1.44269504088896340736, log2e_low = 2.03552737409310e-17;
  static constexpr double log10_2_high = 0.301029995663611771306;
  static constexpr double log10_2_low = 3.694239077158930536556e-13;
  static RL_INLINE V exp_tail(V r) {
    return polynomial(r, V(0.5), V(0.1666666666666666753), V(0.04166666666662067995),
                      V(0.008333333333329796681), V(0.001388888891891890617),
                      V(0.0001984126986436493187), V(0.00002480151867226835421),
                      V(2.755726644235342475e-6), V(2.762132426931368615e-7),
                      V(2.510133585478852185e-8));
  }
  static RL_INLINE V log_tail(V z) {
    return polynomial(z, V(0.6666666666666669807), V(0.399999999998960705),
                      V(0.2857142862752879561), V(0.2222221088193292714),
                      V(0.1818290749767121783), V(0.1533111258796016758),
                      V(0.1462395660821187881));
  }
};

template <class T> RL_INLINE Vec<T> infinity_of(Vec<T>) { return Vec<T>(T(__builtin_inf())); }
template <class T> RL_INLINE Vec<T> nan_of(Vec<T>) { return Vec<T>(T(__builtin_nan(""))); }

// x = n ln2 + r with |r| <= ln2 / 2. NaN stays in r; beyond the range of exp, n is that of its end.
template <class T> struct Reduced {
  Vec<T> r, n;
  typename Vec<T>::Bits whole;  // n
};
template <class T> RL_INLINE Reduced<T> reduce_by_ln2(Vec<T> x) {
  using V = Vec<T>;
  using C = Coefficients<T>;
  const V magic(Format<T>::magic);
  x = most_of(V(C::exp_least), least_of(V(C::exp_most), x));
  const V t = fma(x, V(T(1.44269504088896340736)), magic);
  const V n = t - magic;
  const V r = fma(n, V(-C::ln2_low), fma(n, V(-C::ln2_high), x));
  return {r, n, t.bits() - magic.bits()};
}

// 2^n for -bias < n <= bias.
template <class T> RL_INLINE Vec<T> power_of_two(typename Vec<T>::Bits n) {
  using U = typename Vec<T>::UBits;
  return Vec<T>::of_bits(typename Vec<T>::Bits((U(n) + Format<T>::bias) << Format<T>::mantissa));
}
// y * 2^n where the product, but not 2^n, is in range.
template <class T> RL_INLINE Vec<T> scale_by(Vec<T> y, typename Vec<T>::Bits n) {
  using V = Vec<T>;
  using B = typename V::Bits;
  using U = typename V::UBits;  // of NaN, n is any number
  const U half = ((U(n) + 4096) >> 1) - 2048;
  return y * power_of_two<T>(B(half)) * power_of_two<T>(B(U(n) - half));
}

template <class T> RL_INLINE Vec<T> exp_of_rest(Vec<T> r) {
  return fma(r * r, Coefficients<T>::exp_tail(r), r) + Vec<T>(T(1));
}
template <class T> RL_INLINE Vec<T> exp(Vec<T> x) {
  const Reduced<T> a = reduce_by_ln2(x);
  return scale_by(exp_of_rest(a.r), a.whole);
}
template <class T> RL_INLINE Vec<T> half_exp(Vec<T> x) {  // exp(x) / 2, which overflows later
  const Reduced<T> a = reduce_by_ln2(x);
  return scale_by(exp_of_rest(a.r), a.whole - 1);
}
template <class T> RL_INLINE Vec<T> exp2(Vec<T> x) {
  using V = Vec<T>;
  const V most(T(Format<T>::bias + 2)), least(T(-Format<T>::bias - Format<T>::mantissa - 3));
  x = most_of(least, least_of(most, x));
  const V magic(Format<T>::magic);
  const V t = x + magic;
  const V r = (x - (t - magic)) * V(T(0.69314718055994530942));
  return scale_by(exp_of_rest(r), t.bits() - magic.bits());
}

template <class T> RL_INLINE Vec<T> expm1(Vec<T> x) {
  using V = Vec<T>;
  const V least(T(sizeof(T) == 4 ? -20 : -50));  // exp(x) - 1 rounds to -1
  const Reduced<T> a = reduce_by_ln2(select(x < least, least, x));
  const V p = fma(a.r * a.r, Coefficients<T>::exp_tail(a.r), a.r);  // expm1(r)
  // At the top 2^n overflows while the result does not: then the 1 has long been lost.
  const V top(T(Format<T>::bias - 10));
  const V low = select(a.n > top, V(T(0)), a.n);
  const V s = power_of_two<T>(typename V::Bits(low == a.n) & a.whole);
  const V y = fma(s, p, s - V(T(1)));
  const V large = scale_by(p + V(T(1)), a.whole);
  return select(abs(x) < V(T(1e-30)), x, select(a.n > top, large, y));
}

// Takes x > 0 apart: x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
template <class T> struct Parts { Vec<T> k, f; };
template <class T> RL_INLINE Parts<T> parts_of(Vec<T> x) {
  using V = Vec<T>;
  using B = typename V::Bits;
  using U = typename V::UBits;
  constexpr int m = Format<T>::mantissa;
  const V least(sizeof(T) == 4 ? T(1.17549435e-38) : T(2.2250738585072014e-308));
  const V lifted = select(x < least, x * V(T(1ull << m)), x);
  const B half = V(T(0.70710678118654752440)).bits(), one = V(T(1)).bits();
  const B i = B(U(lifted.bits()) + U(one - half));
  const V offset(T(1ull << m));
  const B k = B(U(i) >> m) | offset.bits();  // k + bias as the last bits of 2^m
  const V mantissa = V::of_bits((i & ((typename V::Int(1) << m) - 1)) + half);
  const V bias(T(1ull << m) + T(Format<T>::bias));
  return {V::of_bits(k) - bias - select(x < least, V(T(m)), V(T(0))), mantissa - V(T(1))};
}

// log(1 + f), and half of f^2 with the rest: log = f - (square - rest); fdlibm's arrangement.
template <class T> struct LogTerms { Vec<T> square, rest; };
template <class T> RL_INLINE LogTerms<T> log_terms(Vec<T> f) {
  using V = Vec<T>;
  const V s = f / (V(T(2)) + f);
  const V z = s * s;
  const V square = V(T(0.5)) * f * f;
  return {square, s * fma(z, Coefficients<T>::log_tail(z), square)};
}
template <class T> RL_INLINE Vec<T> log_limits(Vec<T> x, Vec<T> y) {
  using V = Vec<T>;
  y = select(x < infinity_of(x), y, x);  // infinity and NaN
  y = select(x == V(T(0)), -infinity_of(x), y);
  return select(x < V(T(0)), nan_of(x), y);
}
template <class T> RL_INLINE Vec<T> log_of(Parts<T> a, Vec<T> correction) {
  using V = Vec<T>;
  const LogTerms<T> t = log_terms(a.f);
  const V low = fma(a.k, V(Coefficients<T>::ln2_low), correction);
  return fma(a.k, V(Coefficients<T>::ln2_high), a.f - (t.square - (t.rest + low)));
}
template <class T> RL_INLINE Vec<T> log(Vec<T> x) {
  return log_limits(x, log_of(parts_of(x), Vec<T>(T(0))));
}
template <class T> RL_INLINE Vec<T> log1p(Vec<T> x) {
  using V = Vec<T>;
  const V u = x + V(T(1));
  const V lost = select(u > V(T(2)), V(T(1)) - (u - x), x - (u - V(T(1))));
  const V y = log_of(parts_of(u), lost / u);
  return select(abs(x) < V(T(1e-30)), x, log_limits(u, y));
}

template <class T> RL_INLINE Vec<T> log_of_mantissa(Parts<T> a) {
  const LogTerms<T> t = log_terms(a.f);
  return a.f - (t.square - t.rest);
}
template <class T> RL_INLINE Vec<T> log2(Vec<T> x) {
  using V = Vec<T>;
  using C = Coefficients<T>;
  const Parts<T> a = parts_of(x);
  const V y = log_of_mantissa(a);
  return log_limits(x, a.k + fma(y, V(C::log2e), y * V(C::log2e_low)));
}
template <class T> RL_INLINE Vec<T> log10(Vec<T> x) {
  using V = Vec<T>;
  using C = Coefficients<T>;
  const Parts<T> a = parts_of(x);
  const V low = fma(a.k, V(C::log10_2_low), log_of_mantissa(a) * V(T(0.4342944819032518276511)));
  return log_limits(x, fma(a.k, V(C::log10_2_high), low));
}

template <class T> RL_INLINE Vec<T> sinh(Vec<T> x) {
  using V = Vec<T>;
  const V a = abs(x);
  const V t = expm1(select(a > V(T(2)), V(T(0)), a));  // sinh = (t + t / (t + 1)) / 2
  const V h = half_exp(a);
  const V small = V(T(0.5)) * (t + t / (t + V(T(1))));
  const V y = select(a > V(T(2)), h - V(T(0.25)) / h, small);
  return select(a < V(T(1e-30)), x, copysign(y, x));
}
template <class T> RL_INLINE Vec<T> cosh(Vec<T> x) {
  const Vec<T> h = half_exp(abs(x));
  return h + Vec<T>(T(0.25)) / h;
}

template <class T> RL_INLINE Vec<T> tanh(Vec<T> x) {
  using V = Vec<T>;
  const V most(T(sizeof(T) == 4 ? 10 : 22));  // beyond, tanh rounds to 1
  const V a = abs(x);
  const V m = least_of(most, a);
  const Reduced<T> d = reduce_by_ln2(m + m);
  const V p = fma(d.r * d.r, Coefficients<T>::exp_tail(d.r), d.r);
  const V s = power_of_two<T>(d.whole);
  const V t = fma(s, p, s - V(T(1)));  // expm1(2 |x|)
  return select(a < V(T(1e-30)), x, copysign(t / (t + V(T(2))), x));
}

// Floats: an odd polynomial near zero, 1 - 2 / (exp(2x) + 1) beyond, where the quotient's error
// weighs less.
RL_INLINE Vec<float> tanh(Vec<float> x) {
  using V = Vec<float>;
  const V a = least_of(V(10.0f), abs(x)), z = a * a;
  const V small = fma(a * z, polynomial(z, V(-0.3333333308f), V(0.1333329075f), V(-0.0539563494f),
                                        V(0.02174618709f), V(-0.008272456733f),
                                        V(0.002214902743f)), a);
  const Reduced<float> d = reduce_by_ln2(a + a);
  const V e = exp_of_rest(d.r) * power_of_two<float>(d.whole);
  const V large = V(1.0f) - V(2.0f) / (e + V(1.0f));
  return copysign(select(a < V(0.65f), small, large), x);
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
