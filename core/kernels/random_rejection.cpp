// Poisson, binomial, gamma and Dirichlet numbers: a varying number of draws per element.
//
// float32 tensors keep float32 in the places where PyTorch does, since a comparison decided
// otherwise would shift all later draws. Unlike the fills of random.cpp nothing is fused here:
// PyTorch compiles these for the baseline (aten/src/ATen/native/Distributions.cpp).
#include <cmath>
#include <limits>

#include "kernels/random_draws.h"

namespace rl::kernels {
namespace {

// Transformed rejection with squeeze (Hormann 1993, PTRS) from 10 on, else products of uniforms.
int64_t draw_poisson(Generator& g, double rate) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double end = std::exp(-rate);
    double product = 1.0;
    for (int64_t count = 0;; ++count) {
      product *= draw_double(g);
      if (!(product > end)) return count;
    }
  }
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_accept = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = draw_double(g) - 0.5;
    const double v = draw_double(g);
    const double us = 0.5 - std::fabs(u);
    const auto k = int64_t(std::floor((2 * a / us + b) * u + rate + 0.43));
    if (us >= 0.07 && v <= v_accept) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    int sign;
    const double ratio = std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b);
    if (ratio <= -rate + double(k) * log_rate - ::lgamma_r(double(k) + 1, &sign)) return k;
  }
}

// log k! less Stirling's formula: a table, then its series.
double stirling_rest(double k) {
  static constexpr double kTable[] = {
      0.0810614667953272,  0.0413406959554092,  0.0276779256849983,  0.02079067210376509,
      0.0166446911898211,  0.0138761288230707,  0.0118967099458917,  0.0104112652619720,
      0.00925546218271273, 0.00833056343336287};
  if (k < 10) return kTable[size_t(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Transformed rejection (Hormann 1993, BTRS) for count * prob >= 10, prob <= 0.5.
template <class T> T binomial_rejection(Generator& g, T count, T prob) {
  const double deviation = std::sqrt(count * prob * (1 - prob));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * prob;
  const double c = count * prob + 0.5;
  const double v_accept = 0.92 - 4.2 / b;
  const double r = prob / (1 - prob);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double m = std::floor((count + 1) * prob);
  for (;;) {
    const double u = draw_double(g) - 0.5;
    double v = draw_double(g);
    const double us = 0.5 - std::abs(u);
    const T k = T(std::floor((2 * a / us + b) * u + c));
    if (k < 0 || k > count) continue;
    if (us >= 0.07 && v <= v_accept) return k;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(r * (count - k + 1) / (k + 1)) +
                         stirling_rest(m) + stirling_rest(count - m) - stirling_rest(k) -
                         stirling_rest(count - k);
    if (v <= bound) return k;
  }
}

// Counts how many geometric waits fit into `count` trials.
template <class T> T binomial_waits(Generator& g, T count, T prob) {
  const double log_fail = std::log1p(-prob);
  double trials = 0;
  for (T successes = 0;; successes += 1) {
    trials += std::ceil(std::log(draw_double(g)) / log_fail);
    if (trials > count) return successes;
  }
}

template <class T> T draw_binomial(Generator& g, T count, T prob) {
  if (count <= 0 || prob <= 0) return 0;
  if (prob >= 1) return count;
  if (std::isnan(prob)) return std::numeric_limits<T>::quiet_NaN();
  const bool flipped = prob > 0.5;
  const T p = flipped ? T(1.0 - prob) : prob;
  const T k = count * p >= 10.0 ? binomial_rejection(g, count, p) : binomial_waits(g, count, p);
  return flipped ? count - k : k;
}

// Marsaglia and Tsang 2000 (doi:10.1145/358407.358414), shape raised by one below 1.
template <class T> T draw_gamma(Generator& g, T alpha) {
  double scale = 1;
  if (alpha < 1) {
    if (alpha == 0) return 0;
    scale *= std::pow(1 - draw_double(g), double(1.0f / alpha));
    alpha += 1.0f;
  }
  const double d = alpha - 1.0f / 3.0f;
  const double c = 1.0f / std::sqrt(9.0f * d);
  for (;;) {
    double x, y;
    do {
      x = draw_normal(g);
      y = 1.0f + c * x;
    } while (y <= 0);
    const double v = y * y * y;
    const double u = 1 - draw_double(g);
    const double square = x * x;
    if (u < 1.0f - 0.0331f * square * square) return T(scale * d * v);
    if (std::log(u) < 0.5f * square + d * (1.0f - v + std::log(v))) return T(scale * d * v);
  }
}

// float for all but double: halves are computed in float and rounded.
template <class T> using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace

void poisson(Generator& g, Run out, ConstRun rate) {
  for_floating(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for (int64_t i = 0; i < out.n; ++i) {
      write(out, i, cast<T>(draw_poisson(g, double(number(read<T>(rate, i))))));
    }
  });
}

void binomial(Generator& g, Run out, ConstRun count, ConstRun prob) {
  for_floating(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for (int64_t i = 0; i < out.n; ++i) {
      const Wide<T> n = number(read<T>(count, i)), q = number(read<T>(prob, i));
      write(out, i, cast<T>(draw_binomial(g, n, q)));
    }
  });
}

void gamma(Generator& g, Run out, ConstRun concentration) {
  for_floating(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for (int64_t i = 0; i < out.n; ++i) {
      const Wide<T> alpha = number(read<T>(concentration, i));
      const Wide<T> value = draw_gamma(g, alpha);
      write(out, i, cast<T>(std::max(std::numeric_limits<Wide<T>>::min(), value)));
    }
  });
}

void dirichlet(Generator& g, Run out, ConstRun concentration, double* gammas) {
  for_floating(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    double sum = 0;
    for (int64_t i = 0; i < out.n; ++i) {
      const double alpha = number(read<T>(concentration, i));
      gammas[i] = std::max(std::numeric_limits<double>::min(), draw_gamma(g, alpha));
      sum += gammas[i];
    }
    constexpr Wide<T> kLeast = std::numeric_limits<Wide<T>>::min();
    const Wide<T> most = std::nextafter(Wide<T>(1), Wide<T>(0));
    for (int64_t i = 0; i < out.n; ++i) {
      write(out, i, cast<T>(std::min(most, std::max(kLeast, Wide<T>(gammas[i] / sum)))));
    }
  });
}

}  // namespace rl::kernels
