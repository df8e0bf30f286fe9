// Functors without vector code: inverse circular functions, gamma and its kin, Bessel functions.
#pragma once
#include "kernels/functors/scalar.h"

namespace rl::kernels::fn {

// These are computed in double and rounded once.
double log_gamma(double x);
float log_gamma(float x);
double digamma(double x);
double zeta(double x, double q);        // Hurwitz: the sum of (q + k)^-x
double polygamma(int64_t n, double x);  // the n-th derivative of digamma
float polygamma(int64_t n, float x);
double inverse_erf(double x);
double scaled_erfc(double x);           // exp(x^2) erfc(x)
double normal_quantile(double p);
double log_normal_cdf(double x);
double bessel_i(int order, double x, bool scaled);  // order 0 or 1; scaled by exp(-|x|)

#define RL_UNARY(Name, f) \
  template <class T> struct Name { RL_FN T operator()(T x) const { return T(f); } };
RL_UNARY(Asin, asin(x)) RL_UNARY(Acos, acos(x)) RL_UNARY(Atan, atan(x))
RL_UNARY(Asinh, asinh(x)) RL_UNARY(Acosh, acosh(x)) RL_UNARY(Atanh, atanh(x))
RL_UNARY(Erfc, erfc(x)) RL_UNARY(Lgamma, log_gamma(x)) RL_UNARY(Digamma, digamma(x))
RL_UNARY(Erfinv, inverse_erf(x)) RL_UNARY(Erfcx, scaled_erfc(x))
RL_UNARY(Ndtri, normal_quantile(x)) RL_UNARY(LogNdtr, log_normal_cdf(x))
RL_UNARY(I0, bessel_i(0, x, false)) RL_UNARY(I0e, bessel_i(0, x, true))
RL_UNARY(I1, bessel_i(1, x, false)) RL_UNARY(I1e, bessel_i(1, x, true))
#undef RL_UNARY

template <class T> struct Entr {  // -x log x
  RL_FN T operator()(T x) const {
    return x > 0 ? -x * std::log(x) : x == 0 ? T(0) : isnan(x) ? x : -T(INFINITY);
  }
};
template <class T> struct Polygamma {  // n
  int64_t n;
  explicit RL_FN Polygamma(const Scalar* p) : n(p[0].to_int()) {}
  RL_FN T operator()(T x) const { return T(polygamma(n, x)); }
};
template <class T> struct Zeta {
  RL_FN T operator()(T x, T q) const { return T(zeta(x, q)); }
};
template <class T> struct Nextafter {  // the dtype whose numbers are walked
  DType dtype;
  explicit RL_FN Nextafter(const Scalar* p) : dtype(DType(p[0].to_int())) {}
  RL_FN T operator()(T a, T b) const {
    if (dtype == DType::BFloat16) return next(to_bfloat16(float(a)), a, b);
    if (dtype == DType::Half) return next(to_half(float(a)), a, b);
    return std::nextafter(a, b);
  }
  template <class H> RL_FN static T next(H h, T a, T b) {  // magnitudes are in order of their bits
    if (isnan(a) || isnan(b)) return a + b;
    if (a == b) return b;
    if (a == 0) h.bits = uint16_t(1 | (b < 0 ? 0x8000 : 0));
    else h.bits = uint16_t(h.bits + ((b > a) == (a > 0) ? 1 : -1));
    return T(to_float(h));
  }
};
template <class T> struct Hypot {
  RL_FN T operator()(T a, T b) const { return std::hypot(a, b); }
};
template <class T> struct Atan2 {
  RL_FN T operator()(T a, T b) const { return std::atan2(a, b); }
};

}  // namespace rl::kernels::fn
