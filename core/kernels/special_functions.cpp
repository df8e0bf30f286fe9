// Gamma, zeta and inverse error functions of one double.
#include <cmath>
#include <limits>

#include "kernels/functors/special.h"

namespace rl::kernels::fn {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
// B_2k, the Bernoulli numbers.
constexpr double kBernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66,
                                 -691.0 / 2730, 7.0 / 6, -3617.0 / 510, 43867.0 / 798};
}  // namespace

double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
float log_gamma(float x) {
  int sign;
  return ::lgammaf_r(x, &sign);
}

double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  double shift = 0;
  if (x < 0) {
    if (x == std::trunc(x)) return kNan;
    double whole;
    shift = -kPi / std::tan(kPi * std::modf(x, &whole));  // the reflection formula
    x = 1 - x;
  }
  for (; x < 10; x += 1) shift -= 1 / x;
  if (x == 10) return shift + 2.25175258906672110764;
  double series = 0;
  const double z = 1 / (x * x);
  for (int k = 6; k >= 0; --k) series = z * (series + kBernoulli[k] / (2 * k + 2));
  return shift + std::log(x) - 0.5 / x - series;
}

// Euler-Maclaurin: nine terms, then the integral and its corrections.
double zeta(double x, double q) {
  if (x == 1) return kInfinity;
  if (x < 1 || std::isnan(x) || std::isnan(q)) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (x != std::floor(x)) return kNan;  // the power of a negative number
  }
  double sum = std::pow(q, -x), a = q;
  for (int k = 0; k < 9 || a <= 9; ++k) {
    a += 1;
    const double term = std::pow(a, -x);
    sum += term;
    if (std::abs(term / sum) < 1e-17) return sum;
  }
  const double last = std::pow(a, -x);
  sum += last * a / (x - 1) - 0.5 * last;
  double power = last / a, rising = x, factorial = 2;
  for (int k = 0; k < 9; ++k) {
    sum += kBernoulli[k] * rising * power / factorial;
    rising *= (x + 2 * k + 1) * (x + 2 * k + 2);
    factorial *= (2 * k + 3) * (2 * k + 4);
    power /= a * a;
  }
  return sum;
}

// PyTorch's: six steps up and four terms of the asymptotic series (A&S 6.4.12), which leaves a
// relative error of about 1e-10; by reflection (6.4.7) below 1/2.
template <class T> static T trigamma(T x) {
  constexpr T pi = T(kPi);
  T sign = 1, sum = 0;
  if (x < T(0.5)) {
    const T s = std::sin(pi * x);
    sign = -1;
    sum = -pi * pi / (s * s);
    x = 1 - x;
  }
  for (int k = 0; k < 6; ++k, x += 1) sum += 1 / (x * x);
  const T z = 1 / (x * x);
  return sign * (sum + (1 + 1 / (2 * x) + z * (T(1.0 / 6) - z * (T(1.0 / 30) - z / 42))) / x);
}

float polygamma(int64_t n, float x) {
  return n == 1 ? trigamma(x) : float(polygamma(n, double(x)));
}
double polygamma(int64_t n, double x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  return (n % 2 ? 1.0 : -1.0) * std::exp(log_gamma(double(n) + 1)) * zeta(double(n) + 1, x);
}

// A first guess from Winitzki's formula, then Newton's method with the second-order term.
double inverse_erf(double x) {
  if (std::abs(x) >= 1) return std::abs(x) == 1 ? std::copysign(kInfinity, x) : kNan;
  if (x == 0 || std::isnan(x)) return x;
  const double l = std::log1p(-x * x), c = 2 / (kPi * 0.147) + l / 2;
  double y = std::copysign(std::sqrt(std::sqrt(c * c - l / 0.147) - c), x);
  for (int k = 0; k < 2; ++k) {
    // Near the ends the complement keeps its digits where erf(y) has lost them.
    const double beyond = (1 - std::abs(x)) - std::erfc(std::abs(y));
    const double error = std::abs(x) < 0.5 ? std::erf(y) - x : x < 0 ? -beyond : beyond;
    const double step = error / (2 / std::sqrt(kPi) * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return y;
}

double scaled_erfc(double x) {
  if (x < 25) return x < -26.7 ? kInfinity : std::exp(x * x) * std::erfc(x);
  const double z = 1 / (2 * x * x);  // the asymptotic series
  return (1 - z * (1 - z * (3 - z * (15 - 105 * z)))) / (x * std::sqrt(kPi));
}

double normal_quantile(double p) {
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p == 0.5) return 0;
  if (!(p > 0 && p < 1)) return kNan;
  const double lower = p < 0.5 ? p : 1 - p;
  double y;  // the quantile of `lower`, negative
  if (lower > 0.02) {
    y = 1.41421356237309504880 * inverse_erf(2 * lower - 1);
  } else {
    const double t = std::sqrt(-2 * std::log(lower));
    y = -t + std::log(t * 2.50662827463100050242) / t;
    for (int k = 0; k < 5; ++k) {  // Newton on the logarithm: it stays accurate in the tail
      const double log_cdf = log_normal_cdf(y);
      const double slope = std::exp(-y * y / 2 - 0.91893853320467274178 - log_cdf);
      y -= (log_cdf - std::log(lower)) / slope;
    }
  }
  return p < 0.5 ? y : -y;
}

double log_normal_cdf(double x) {
  const double t = x * 0.70710678118654752440;
  if (x < -1) return std::log(scaled_erfc(-t) / 2) - t * t;
  return std::log1p(-std::erfc(t) / 2);
}

}  // namespace rl::kernels::fn
