// Functors of Bessel and Airy functions and of the incomplete gamma functions.
#pragma once
#include "kernels/functors/scalar.h"

namespace rl::kernels::fn {

// These are computed in double and rounded once.
double bessel_j(int order, double x);                // order 0 or 1, as in the next four
double bessel_y(int order, double x);
double bessel_i(int order, double x, bool scaled);   // scaled by exp(-|x|)
double bessel_k(int order, double x, bool scaled);   // scaled by exp(x)
double spherical_bessel_j0(double x);                // sin(x) / x
double airy_ai(double x);
double gamma_p(double a, double x);                  // regularized, lower
double gamma_q(double a, double x);                  // regularized, upper

#define RL_UNARY(Name, f) \
  template <class T> struct Name { RL_FN T operator()(T x) const { return T(f); } };
RL_UNARY(BesselJ0, bessel_j(0, x)) RL_UNARY(BesselJ1, bessel_j(1, x))
RL_UNARY(BesselY0, bessel_y(0, x)) RL_UNARY(BesselY1, bessel_y(1, x))
RL_UNARY(ModifiedBesselI0, bessel_i(0, x, false)) RL_UNARY(ModifiedBesselI1, bessel_i(1, x, false))
RL_UNARY(ModifiedBesselK0, bessel_k(0, x, false)) RL_UNARY(ModifiedBesselK1, bessel_k(1, x, false))
RL_UNARY(ScaledModifiedBesselK0, bessel_k(0, x, true))
RL_UNARY(ScaledModifiedBesselK1, bessel_k(1, x, true))
RL_UNARY(SphericalBesselJ0, spherical_bessel_j0(x)) RL_UNARY(AiryAi, airy_ai(x))
#undef RL_UNARY

template <class T> struct Igamma {
  RL_FN T operator()(T a, T x) const { return T(gamma_p(a, x)); }
};
template <class T> struct Igammac {
  RL_FN T operator()(T a, T x) const { return T(gamma_q(a, x)); }
};

}  // namespace rl::kernels::fn
