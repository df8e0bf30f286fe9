// Implicit reparameterisation (Figurnov, Mohamed and Mnih 2018, section 3): a sample x whose
// distribution function is F(x; a) moves by dx/da = -(dF/da) / (dF/dx). Of the two tails the one
// whose integrand keeps its sign is taken, so that nothing cancels.
#include "kernels/implicit_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "kernels/functors/special.h"

namespace rl::kernels {
using fn::digamma;

namespace {

constexpr int64_t kGrain = 32;  // samples; each takes about a microsecond
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The integral of f over (0, inf) by the double exponential rule (Takahasi and Mori 1974), for f
// that falls off within a few orders of magnitude of `width`.
template <class F> double half_line(double width, F f) {
  constexpr int kPoints = 120, kFirst = -58;
  constexpr double kStep = 1.0 / 16;
  struct Node { double place, weight; };
  static const auto nodes = [] {
    constexpr double kHalfPi = 1.5707963267948966;
    std::array<Node, kPoints> all;
    for (int i = 0; i < kPoints; ++i) {
      const double u = (i + kFirst) * kStep, s = std::exp(kHalfPi * std::sinh(u));
      all[size_t(i)] = {s, s * std::cosh(u) * kStep * kHalfPi};
    }
    return all;
  }();
  double sum = 0;
  for (const Node& n : nodes) {
    const double term = f(width * n.place) * n.weight;
    sum += term;
    if (n.place > 1 && term < sum * 1e-16) break;
  }
  return sum * width;
}

double lower_gamma(double a, double x, double log_x) {
  // -dP/da over the density, from the power series of P (DLMF 8.7.1).
  double psi = digamma(a + 1), c = 1 / a, sum = 0;
  for (int k = 1; k < 200000; ++k) {
    const double term = c * (psi - log_x);
    sum += term;
    if (psi > log_x && std::fabs(term) < std::fabs(sum) * 1e-17) break;
    const double step = 1 / (a + k);
    c *= x * step;
    psi += step;
  }
  return x * sum;
}

double upper_gamma(double a, double x, double log_x) {
  const double mean = digamma(a);
  const double width = 1 / (std::fabs(1 - (a - 1) / x) + 1 / std::sqrt(x));
  return half_line(width, [=](double s) {
    const double grown = std::log1p(s / x);
    const double weight = std::exp((a - 1) * grown - s);
    return weight == 0 ? 0 : weight * (log_x + grown - mean);
  });
}

// Cornish and Fisher's expansion in 1 / sqrt(a), whose first terms are exact enough here.
double wide_gamma(double a, double x) {
  const double root = std::sqrt(a), z0 = (x - a) / root;
  double z = z0;
  for (int i = 0; i < 3; ++i)
    z = z0 - (z * z - 1) / (3 * root) - (z * z * z - 7 * z) / (36 * a);
  return 1 + z / (2 * root) - (z * z * z - 7 * z) / (72 * a * root);
}

}  // namespace

double gamma_slope(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNan;
  if (x == 0) return 0;
  if (std::isinf(x)) return kNan;
  if (a > 1e6) return wide_gamma(a, x);
  // The series has terms of both signs where x is large, but those of a likely x lose few digits.
  const double log_x = std::log(x), rarity = fn::log_gamma(a) + x - a * log_x;
  const bool series = rarity < 7 || log_x < digamma(a + 1);
  return series ? lower_gamma(a, x, log_x) : upper_gamma(a, x, log_x);
}

namespace {

// Power series of I_x(a, b), or of I_y(b, a) at y = 1 - x where that converges sooner
// (DLMF 8.17.8), differentiated term by term.
double series_beta(double a, double b, double x) {
  const double log_x = std::log(x), y = 1 - x, psi = digamma(a + b) + log_x;
  const bool low = x < 0.5;
  const double first = low ? a : b, z = low ? x : y;
  double rise = psi - (low ? digamma(a + 1) : digamma(a)), c = 1 / first, sum = 0;
  for (int k = 0; k < 200000; ++k) {
    const double term = c * rise;
    sum += term;
    // Terms shrink by z at last; a factor of rise near 0 is no sign of that.
    if (c * std::max(std::fabs(log_x), std::fabs(rise)) < std::fabs(sum) * 1e-16) break;
    const double up = 1 / (a + b + k), down = 1 / (first + k + 1);
    rise += low ? up - down : up;
    c *= z * (a + b + k) * down;
  }
  return low ? -x * y * sum : x * y * sum;
}

double integral_beta(double a, double b, double x) {
  const double log_x = std::log(x), mean = digamma(a) - digamma(a + b);
  const double rest = 1 - x;
  // Between the scale on which the integrand leaves its first value and that on which it ends.
  const auto width = [](double near, double far) {
    return 1 / std::sqrt((std::fabs(near) + far + 1) * far);
  };
  if (log_x < mean) {  // t = x exp(-y)
    return x * half_line(width((b - 1) * x / rest - a, a), [=](double y) {
      const double t = -std::expm1(-y) * x / rest;
      const double weight = std::exp(-a * y + (b - 1) * std::log1p(t));
      return weight == 0 ? 0 : weight * (mean - log_x + y);
    });
  }
  // 1 - t = (1 - x) exp(-y)
  return rest * half_line(width((a - 1) * rest / x - b, b), [=](double y) {
    const double grown = std::log1p(-std::expm1(-y) * rest / x);
    const double weight = std::exp(-b * y + (a - 1) * grown);
    return weight == 0 ? 0 : weight * (log_x + grown - mean);
  });
}

}  // namespace

double beta_slope(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return kNan;
  if (x == 0 || x == 1) return 0;
  // The series have terms of both signs, but those of a likely x lose few digits.
  const double rarity = fn::log_gamma(a) + fn::log_gamma(b) - fn::log_gamma(a + b) -
                        a * std::log(x) - b * std::log1p(-x);
  return rarity < 7 ? series_beta(a, b, x) : integral_beta(a, b, x);
}

void gamma_slopes(double* out, const double* a, const double* x, int64_t n) {
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = gamma_slope(a[i], x[i]);
  });
}

void dirichlet_slopes(double* out, const double* x, const double* alpha, const double* total,
                      int64_t n) {
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = beta_slope(alpha[i], total[i] - alpha[i], x[i]) / (1 - x[i]);
  });
}

}  // namespace rl::kernels
