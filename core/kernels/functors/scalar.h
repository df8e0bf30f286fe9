// What functors are written in, for single numbers: the same names exist for registers.
#pragma once
#include <cmath>
#include <complex>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "base/scalar.h"

#ifdef __CUDACC__
#define RL_FN inline __host__ __device__
#else
#define RL_FN inline __attribute__((always_inline))
#endif

namespace rl::kernels::fn {

template <class T> constexpr bool is_complex_number = false;
template <class T> constexpr bool is_complex_number<std::complex<T>> = true;
template <class T> constexpr bool is_integer = std::is_integral_v<T>;  // bool too
template <class T> constexpr bool is_number = std::is_arithmetic_v<T> || is_complex_number<T>;
template <class T> using if_number = std::enable_if_t<is_number<T>, int>;
template <class T> using if_real = std::enable_if_t<std::is_arithmetic_v<T>, int>;
template <class T> using if_float = std::enable_if_t<std::is_floating_point_v<T>, int>;

template <class T, if_number<T> = 0> RL_FN T number(const Scalar& s, T) {
  return s.to<T>();
}
template <class T, if_number<T> = 0> RL_FN T select(bool m, T a, T b) { return m ? a : b; }
template <class T, if_float<T> = 0> RL_FN T as_bfloat16(T v) {  // rounded to one, and back
  return T(to_float(to_bfloat16(float(v))));
}
template <class T, if_number<T> = 0> RL_FN bool nonzero(T a) { return a != T(0); }

// Integers wrap around, as the machine does; complex products take the plain formula, where C++'s
// would recover infinities from NaN at many times the cost.
template <class V> RL_FN V plus(V a, V b) {
  if constexpr (std::is_same_v<V, bool>) return a || b;
  else if constexpr (is_integer<V>) return V(uint64_t(a) + uint64_t(b));
  else return a + b;
}
template <class V> RL_FN V minus(V a, V b) {
  if constexpr (is_integer<V>) return V(uint64_t(a) - uint64_t(b));
  else return a - b;
}
template <class V> RL_FN V times(V a, V b) {
  if constexpr (std::is_same_v<V, bool>) return a && b;
  else if constexpr (is_integer<V>) return V(uint64_t(a) * uint64_t(b));
  else if constexpr (is_complex_number<V>) {
    return V(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else return a * b;
}
// The quotient of the larger part of b: numpy's and PyTorch's complex division.
template <class R> RL_FN std::complex<R> quotient(std::complex<R> x, std::complex<R> y) {
  const R a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  if (std::abs(c) >= std::abs(d)) {
    if (c == 0 && d == 0) return {a / std::abs(c), b / std::abs(d)};
    const R ratio = d / c, scale = R(1) / (c + d * ratio);
    return {(a + b * ratio) * scale, (b - a * ratio) * scale};
  }
  const R ratio = c / d, scale = R(1) / (c * ratio + d);
  return {(a * ratio + b) * scale, (b * ratio - a) * scale};
}
template <class V> RL_FN V over(V a, V b) {
  if constexpr (is_complex_number<V>) return quotient(a, b);
  else return a / b;
}
template <class V> RL_FN V fma(V a, V b, V c) { return plus(times(a, b), c); }

#define RL_STANDARD(f) \
  template <class T, if_float<T> = 0> RL_FN T f(T x) { return std::f(x); }
RL_STANDARD(exp) RL_STANDARD(exp2) RL_STANDARD(expm1) RL_STANDARD(log) RL_STANDARD(log2)
RL_STANDARD(log10) RL_STANDARD(log1p) RL_STANDARD(sin) RL_STANDARD(cos) RL_STANDARD(tan)
RL_STANDARD(sinh) RL_STANDARD(cosh) RL_STANDARD(tanh) RL_STANDARD(asin) RL_STANDARD(acos)
RL_STANDARD(atan) RL_STANDARD(asinh) RL_STANDARD(acosh) RL_STANDARD(atanh) RL_STANDARD(erf)
RL_STANDARD(erfc) RL_STANDARD(sqrt) RL_STANDARD(floor) RL_STANDARD(ceil) RL_STANDARD(trunc)
#undef RL_STANDARD
template <class T, if_float<T> = 0> RL_FN T round(T x) { return std::nearbyint(x); }
template <class T, if_float<T> = 0> RL_FN T copysign(T a, T b) { return std::copysign(a, b); }
template <class T, if_real<T> = 0> RL_FN bool signbit(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::signbit(a);
  else return a < T(0);
}
template <class T, if_real<T> = 0> RL_FN T abs(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
  else if constexpr (std::is_signed_v<T>) return a < 0 ? minus(T(0), a) : a;
  else return a;
}
template <class T, if_number<T> = 0> RL_FN bool isnan(T a) { return a != a; }
template <class T, if_real<T> = 0> RL_FN bool isinf(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::isinf(a);
  else return false;
}
template <class T> RL_FN bool isinf(std::complex<T> a) {
  return std::isinf(a.real()) || std::isinf(a.imag());
}
template <class T, if_real<T> = 0> RL_FN bool isfinite(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::isfinite(a);
  else return true;
}
template <class T> RL_FN bool isfinite(std::complex<T> a) {
  return std::isfinite(a.real()) && std::isfinite(a.imag());
}

template <class T> RL_FN std::complex<T> exp2(std::complex<T> z) {
  return std::exp(z * T(0.69314718055994530942));
}
template <class T> RL_FN std::complex<T> log2(std::complex<T> z) {
  return std::log(z) * T(1.44269504088896340736);
}
template <class T> RL_FN std::complex<T> expm1(std::complex<T> z) {
  const T half = std::sin(z.imag() / 2), e = std::expm1(z.real());
  return {e * std::cos(z.imag()) - 2 * half * half, (e + 1) * std::sin(z.imag())};
}
template <class T> RL_FN std::complex<T> log1p(std::complex<T> z) {
  const T x = z.real(), y = z.imag();
  if (std::abs(x) + std::abs(y) > T(0.5)) return std::log(z + T(1));
  return {std::log1p(x * (x + 2) + y * y) / 2, std::atan2(y, x + 1)};
}

// The larger and the smaller of two; NaN, where there is one, wins.
template <class V> RL_FN V larger(V a, V b) {
  if constexpr (is_integer<V>) return a > b ? a : b;
  else return select((a > b) | isnan(a), a, b);
}
template <class V> RL_FN V smaller(V a, V b) {
  if constexpr (is_integer<V>) return a < b ? a : b;
  else return select((a < b) | isnan(a), a, b);
}
template <class V> RL_FN V conjugate(V a) {
  if constexpr (is_complex_number<V>) return std::conj(a);
  else return a;
}
template <class T, if_float<T> = 0> RL_FN T normal_cdf(T x) {
  return T(0.5) * erfc(x * T(-0.70710678118654752440));
}
template <class V> RL_FN V sigmoid_of(V x) { return over(V(1), V(1) + exp(-x)); }

}  // namespace rl::kernels::fn
