// Bessel functions of order 0 and 1 and the Airy function of one double.
#include <cmath>

#include "kernels/bessel_coefficients.h"
#include "kernels/functors/bessel.h"

namespace rl::kernels::fn {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;

// Clenshaw's recurrence (Math. Tables Aids Comp. 9, 1955) for -1 <= y <= 1.
template <int n> double chebyshev(const double (&c)[n], double y) {
  double b0 = 0, b1 = 0;
  for (int k = n - 1; k > 0; --k) {
    const double b2 = b1;
    b1 = b0;
    b0 = 2 * y * b1 - b2 + c[k];
  }
  return y * b0 - b1 + c[0];
}

// The power series of Ai (DLMF 9.4.1).
double airy_series(double x) {
  const double z = x * x * x;
  double f = 1, g = x, f_term = 1, g_term = x;
  for (int k = 1; std::abs(f_term) > 1e-18 || std::abs(g_term) > 1e-18; ++k) {
    const double three = 3.0 * k;
    f_term *= z / ((three - 1) * three);
    g_term *= z / (three * (three + 1));
    f += f_term;
    g += g_term;
  }
  return 0.355028053887817239260 * f - 0.258819403792806798405 * g;
}

constexpr double kAiryStart = 1.88561808316412673174;  // 2/3 x^(3/2) at x = 2

}  // namespace

double bessel_j(int order, double x) {
  if (!std::isfinite(x)) return kNan;
  return order ? ::j1(x) : ::j0(x);
}

double bessel_y(int order, double x) {
  if (!std::isfinite(x) || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  return order ? ::y1(x) : ::y0(x);
}

double bessel_i(int order, double x, bool scaled) {
  const double a = std::abs(x);
  double y;  // times exp(-a)
  if (a <= 8) {
    y = order ? a * chebyshev(kI1Small, a / 4 - 1) : chebyshev(kI0Small, a / 4 - 1);
  } else {
    const double z = 16 / a - 1;
    y = (order ? chebyshev(kI1Large, z) : chebyshev(kI0Large, z)) / std::sqrt(a);
  }
  if (!scaled) {
    const double half = std::exp(a / 2);  // exp(a) would overflow sooner than the result
    y = y * half * half;
  }
  return order && x < 0 ? -y : y;
}

// DLMF 10.31.1 and 10.31.2 up to 2: the logarithm times I, plus an even or odd power series.
double bessel_k(int order, double x, bool scaled) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return kInfinity;
  if (x > 2) {
    const double y = order ? chebyshev(kK1Large, 4 / x - 1) : chebyshev(kK0Large, 4 / x - 1);
    return (scaled ? y : y * std::exp(-x)) / std::sqrt(x);
  }
  const double z = x * x / 2 - 1, l = std::log(x / 2);
  const double y = order ? l * x * chebyshev(kI1Near, z) + chebyshev(kK1Small, z) / x
                         : chebyshev(kK0Small, z) - l * chebyshev(kI0Near, z);
  return scaled ? y * std::exp(x) : y;
}

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  if (std::abs(x) >= 0.5) return std::sin(x) / x;
  const double z = x * x;
  double sum = 0;
  for (int k = 9; k > 0; --k) sum = (1 + sum) * -z / (2 * k * (2 * k + 1));
  return 1 + sum;
}

// DLMF 9.7.5 and 9.7.9, their series in 1 / (2/3 x^(3/2)) replaced by Chebyshev's.
double airy_ai(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x > 103.892) return 0;
  if (std::abs(x) <= 2) return airy_series(x);
  const double a = std::abs(x), root = std::sqrt(a), zeta = a * root * 2 / 3;
  const double z = kAiryStart / zeta, quarter = std::sqrt(root);
  if (x > 0) return chebyshev(kAiryDecay, 2 * z - 1) * std::exp(-zeta) / quarter;
  const double f = chebyshev(kAiryF, 2 * z * z - 1), g = chebyshev(kAiryG, 2 * z * z - 1) / zeta;
  const double angle = zeta + kPi / 4;
  return (std::sin(angle) * f - std::cos(angle) * g) / (std::sqrt(kPi) * quarter);
}

}  // namespace rl::kernels::fn
