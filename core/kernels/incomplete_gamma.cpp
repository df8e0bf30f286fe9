// The regularized incomplete gamma functions P and Q of two doubles.
#include <cmath>

#include "kernels/functors/bessel.h"
#include "kernels/functors/special.h"

namespace rl::kernels::fn {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr double kEpsilon = 1.2e-16;
constexpr int kMostTerms = 10000;

// Note [Uniform expansion]
// For large a, P = erfc(-eta sqrt(a/2)) / 2 - R with R = exp(-a eta^2 / 2) / sqrt(2 pi a) times
// the sum of c_k(eta) a^-k (DLMF 8.12.3, 8.12.7). Row k holds the Taylor coefficients of c_k,
// found from 8.12.11 and 8.12.12 in 40 digits.
constexpr int kRows = 7, kColumns = 18;
constexpr double kUniform[kRows][kColumns] = {
    {-0.333333333333333333, 0.0833333333333333333, -0.0148148148148148148,
     0.00115740740740740741, 0.0003527336860670194, -0.000178755144032921811,
     0.0000391926317852243778, -2.18544851067999216e-6, -1.85406221071515996e-6,
     8.29671134095308601e-7, -1.76659527368260793e-7, 6.70785354340149858e-9,
     1.0261809784240308e-8, -4.38203601845335319e-9, 9.14769958223679023e-10,
     -2.55141939949462498e-11, -5.83077213255042507e-11, 2.43619480206674162e-11},
    {-0.00185185185185185185, -0.00347222222222222222, 0.0026455026455026455,
     -0.000990226337448559671, 0.000205761316872427984, -4.01877572016460905e-7,
     -0.0000180985503344899778, 7.64916091608111008e-6, -1.6120900894563446e-6,
     4.64712780280743434e-9, 1.37863344691572096e-7, -5.75254560351770496e-8,
     1.19516285997781473e-8, -1.75432417197476476e-11, -1.00915437106004126e-9,
     4.16279299184258264e-10, 0, 0},
    {0.0041335978835978836, -0.00268132716049382716, 0.000771604938271604938,
     2.00938786008230453e-6, -0.000107366532263651605, 0.0000529234488291201254,
     -0.0000127606351886187277, 3.42357873409613807e-8, 1.37219573090629332e-6,
     -6.29899213838005502e-7, 1.42806142060642418e-7, -2.0477098421990866e-10,
     -1.40925299108675211e-8, 6.22897408492202203e-9, 0, 0, 0, 0},
    {0.000649434156378600823, 0.000229472093621399177, -0.000469189494395255712,
     0.000267720632062838853, -0.0000756180167188397641, -2.39650511386729665e-7,
     0.0000110826541153473024, -5.67495282699159657e-6, 1.42309007324358839e-6,
     -2.78610802915281422e-11, -1.69584040919302773e-7, 8.09946490538808236e-8, 0, 0, 0, 0, 0, 0},
    {-0.000861888290916711699, 0.000784039221720066627, -0.00029907248030319018,
     -1.46384525788434182e-6, 0.0000664149821546512219, -0.0000396836504717943466,
     0.0000113757269706784191, 2.5074972262375328e-10, -1.6954149536558306e-6,
     8.90750753220530969e-7, 0, 0, 0, 0, 0, 0, 0, 0},
    {-0.00033679855336635815, -0.0000697281375836585777, 0.000277275324495939208,
     -0.000199325705161888477, 0.0000679778047793720784, 1.41906292064396701e-7,
     -0.0000135940481897686933, 8.01847025633420154e-6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {0.000531307936463992223, -0.000592166437353693883, 0.000270878209671804483,
     7.90235323266032787e-7, -0.0000815396936756196875, 0.0000561168275310624965, 0, 0, 0, 0, 0,
     0, 0, 0, 0, 0, 0, 0},
};

// d - log(1 + d), accurate near 0: from log(1 + d) = 2 artanh(d / (2 + d)).
double log_gap(double d) {
  if (std::abs(d) > 0.3) return d - std::log1p(d);
  const double s = d / (2 + d), z = s * s;
  double sum = 0;
  for (int k = 23; k >= 3; k -= 2) sum = z * (sum + 1.0 / k);
  return s * (d - 2 * sum);
}

// log(gamma(1 + a)), accurate near 0 (DLMF 5.7.3).
double log_gamma_of_next(double a) {
  if (a > 1e-3) return log_gamma(1 + a);
  return a * (-0.57721566490153286061 +
              a * (0.82246703342411321824 +
                   a * (-0.40068563438653142847 +
                        a * (0.27058080842778454788 - a * 0.20738555102867398527))));
}

// x^a exp(-x) / gamma(a + 1).
double factor(double a, double x) {
  if (a < 20) return std::exp(a * std::log(x) - x - log_gamma_of_next(a));
  const double z = 1 / (a * a);  // Stirling's series (DLMF 5.11.1)
  const double correction = (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z / 1680))) / a;
  const double d = (x - a) / a;
  const double exponent = std::abs(d) < 0.5 ? a * log_gap(d) : x - a - a * std::log(x / a);
  return std::exp(-exponent - correction) / std::sqrt(2 * kPi * a);
}

// DLMF 8.7.1.
double p_series(double a, double x) {
  double sum = 1, term = 1;
  for (int k = 1; k < kMostTerms && term > kEpsilon * sum; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return factor(a, x) * sum;
}

// DLMF 8.7.3 for small a: 1 - x^a / gamma(1 + a) is taken together.
double q_series(double a, double x) {
  double sum = 0, term = 1;
  for (int k = 1; k < kMostTerms; ++k) {
    term *= -x / k;
    sum += term / (a + k);
    if (std::abs(term) <= kEpsilon * std::abs(sum) * (a + k)) break;
  }
  const double power = a * std::log(x) - log_gamma_of_next(a);
  return -std::expm1(power) - a * std::exp(power) * sum;
}

// DLMF 8.9.2 by Lentz's method.
double q_fraction(double a, double x) {
  const double least = 1e-300;
  double b = x + 1 - a, c = 1 / least, d = 1 / b, y = d;
  for (int k = 1; k < kMostTerms; ++k) {
    const double top = -k * (k - a);
    b += 2;
    d = top * d + b;
    c = b + top / c;
    if (std::abs(d) < least) d = least;
    if (std::abs(c) < least) c = least;
    d = 1 / d;
    y *= c * d;
    if (std::abs(c * d - 1) < kEpsilon * 2) break;
  }
  return a * factor(a, x) * y;
}

// Note [Uniform expansion]; sign -1 gives P, 1 gives Q.
double uniform(double a, double x, double sign) {
  const double d = (x - a) / a, half_square = log_gap(d);
  const double eta = std::copysign(std::sqrt(2 * half_square), d);
  double sum = 0;
  for (int k = kRows - 1; k >= 0; --k) {
    double c = 0;
    for (int n = kColumns - 1; n >= 0; --n) c = c * eta + kUniform[k][n];
    sum = sum / a + c;
  }
  const double rest = std::exp(-a * half_square) / std::sqrt(2 * kPi * a) * sum;
  return 0.5 * std::erfc(sign * eta * std::sqrt(a / 2)) + sign * rest;
}
bool is_uniform(double a, double x) {
  const double d = std::abs(x - a) / a;
  return a > 200 && (d < 4.5 / std::sqrt(a) || (a > 1000 && d < 0.4));
}

// Whether q_series serves better than 1 - P, for x up to 1.1 (DiDonato and Morris, 1986).
bool has_small_q(double a, double x) {
  return x <= 0.5 ? -0.4 / std::log(x) >= a : x * 1.1 >= a;
}

// Where one of the arguments is at an end of its range; NaN outside, and of NaN.
bool at_limit(double a, double x, double& p) {
  p = kNan;
  if (x < 0 || a < 0) return true;
  if (a == 0) p = x == 0 ? kNan : 1;
  else if (x == 0) p = 0;
  else if (std::isinf(a)) p = std::isinf(x) ? kNan : 0;
  else if (std::isinf(x)) p = 1;
  else return std::isnan(a) || std::isnan(x);
  return true;
}

}  // namespace

double gamma_p(double a, double x) {
  double p;
  if (at_limit(a, x, p)) return p;
  if (is_uniform(a, x)) return uniform(a, x, -1);
  return x > 1 && x > a ? 1 - gamma_q(a, x) : p_series(a, x);
}

double gamma_q(double a, double x) {
  double p;
  if (at_limit(a, x, p)) return 1 - p;
  if (is_uniform(a, x)) return uniform(a, x, 1);
  if (x <= 1.1) return has_small_q(a, x) ? q_series(a, x) : 1 - p_series(a, x);
  return x < a ? 1 - p_series(a, x) : q_fraction(a, x);
}

}  // namespace rl::kernels::fn
