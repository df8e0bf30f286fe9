// Functors of orthogonal polynomials: by recurrence (DLMF 18.9), Chebyshev's of higher degrees by
// their circular form (DLMF 18.5) between -1 and 1.
#pragma once
#include "base/interrupt.h"
#include "kernels/functors/scalar.h"

namespace rl::kernels::fn {

// A degree may be 10^9: Ctrl-C is answered.
RL_FN void rest_at(int64_t k) {
#ifndef __CUDA_ARCH__
  if (k % (1 << 20) == 0) poll_interrupt();
#endif
}

// The recurrence p(k + 1) = step(k, p(k), p(k - 1)) from p(0) = 1 and p(1) = `second`.
template <class T, class F> RL_FN T recur(T second, int64_t n, F step) {
  if (n == 0) return 1;
  T before = 1, p = second;
  for (int64_t k = 1; k < n && !isnan(p); ++k) {
    const T next = step(T(k), p, before);
    before = p;
    p = next;
    rest_at(k);
  }
  return p;
}
template <class T> RL_FN T recur_chebyshev(T x, T second, int64_t n) {
  return recur(second, n, [x](T, T p, T before) { return (x + x) * p - before; });
}
template <class T> RL_FN T alternating(int64_t n, T v) { return n % 2 ? -v : v; }

template <class T> T chebyshev_t(T x, int64_t n) {
  if (n < 0) return 0;
  if (abs(x) == 1) return x > 0 ? T(1) : alternating(n, T(1));
  if (n > 6 && abs(x) < 1) return std::cos(T(n) * std::acos(x));
  return recur_chebyshev(x, x, n);
}
template <class T> T chebyshev_u(T x, int64_t n) {
  if (n < 0) return 0;
  if (abs(x) == 1) return x > 0 ? T(n + 1) : alternating(n, T(n + 1));
  if (n > 8 && abs(x) < 1) {
    const T angle = std::acos(x), sine = std::sin(angle);
    if (sine != 0) return std::sin(T(n + 1) * angle) / sine;
    return T(n + 1) * std::cos(T(n + 1) * angle) / x;
  }
  return recur_chebyshev(x, x + x, n);
}
template <class T> T chebyshev_v(T x, int64_t n) {
  if (n < 0) return 0;
  if (abs(x) == 1) return x > 0 ? T(1) : alternating(n, T(n + n + 1));
  if (n > 8 && abs(x) < 1) {
    const T angle = std::acos(x);
    if (std::sin(angle / 2) != 1) return std::cos((T(n) + T(0.5)) * angle) / std::cos(angle / 2);
    return alternating(n, T(n + n + 1));
  }
  return recur_chebyshev(x, x + x - 1, n);
}
template <class T> T chebyshev_w(T x, int64_t n) {
  if (n < 0) return 0;
  if (abs(x) == 1) return x > 0 ? T(n + n + 1) : alternating(n, T(1));
  if (n > 8 && abs(x) < 1) {
    const T angle = std::acos(x);
    if (std::cos(angle / 2) != 1) return std::sin((T(n) + T(0.5)) * angle) / std::sin(angle / 2);
    return x > 0 ? T(n + n + 1) : alternating(n, T(1));
  }
  return recur_chebyshev(x, x + x + 1, n);
}

// Hermite's grow past the range of T before this degree.
template <class T> constexpr int64_t kHermiteMost = sizeof(T) == 4 ? 128 : 512;
template <class T> T hermite_h(T x, int64_t n) {
  if (n < 0) return 0;
  if (n > kHermiteMost<T>) return std::numeric_limits<T>::quiet_NaN();
  return recur(x + x, n, [x](T k, T p, T before) { return (x + x) * p - (k + k) * before; });
}
template <class T> T hermite_he(T x, int64_t n) {
  if (n < 0) return 0;
  if (n > kHermiteMost<T>) return std::numeric_limits<T>::quiet_NaN();
  return recur(x, n, [x](T k, T p, T before) { return x * p - k * before; });
}
template <class T> T laguerre_l(T x, int64_t n) {
  if (n < 0) return 0;
  if (x == 0) return 1;
  return recur(T(1) - x, n, [x](T k, T p, T before) {
    return ((k + k + (T(1) - x)) * p - k * before) / (k + 1);
  });
}
template <class T> T legendre_p(T x, int64_t n) {
  if (n < 0) return 0;
  if (abs(x) == 1) return x > 0 ? T(1) : alternating(n, T(1));
  return recur(x, n, [x](T k, T p, T before) {
    return ((k + k + 1) * x * p - k * before) / (k + 1);
  });
}

// The degree is a number of the same dtype; beyond this one it only costs time.
template <class T> RL_FN int64_t degree_of(T n) {
  return n >= T(1e9) ? int64_t(1000000000) : n > T(-1e9) ? int64_t(n) : int64_t(-1);
}

#define RL_POLYNOMIAL(Name, f) \
  template <class T> struct Name { RL_FN T operator()(T x, T n) const { return f; } };
RL_POLYNOMIAL(ChebyshevT, chebyshev_t(x, degree_of(n)))
RL_POLYNOMIAL(ChebyshevU, chebyshev_u(x, degree_of(n)))
RL_POLYNOMIAL(ChebyshevV, chebyshev_v(x, degree_of(n)))
RL_POLYNOMIAL(ChebyshevW, chebyshev_w(x, degree_of(n)))
RL_POLYNOMIAL(ShiftedChebyshevT, chebyshev_t(x + x - 1, degree_of(n)))
RL_POLYNOMIAL(ShiftedChebyshevU, chebyshev_u(x + x - 1, degree_of(n)))
RL_POLYNOMIAL(ShiftedChebyshevV, chebyshev_v(x + x - 1, degree_of(n)))
RL_POLYNOMIAL(ShiftedChebyshevW, chebyshev_w(x + x - 1, degree_of(n)))
RL_POLYNOMIAL(HermiteH, hermite_h(x, degree_of(n)))
RL_POLYNOMIAL(HermiteHe, hermite_he(x, degree_of(n)))
RL_POLYNOMIAL(LaguerreL, laguerre_l(x, degree_of(n)))
RL_POLYNOMIAL(LegendreP, legendre_p(x, degree_of(n)))
#undef RL_POLYNOMIAL

}  // namespace rl::kernels::fn
