// Convolutions and their gradients against naive loops over odd sizes, strides, groups.
#include "kernels/convolution.h"

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "base/parallel.h"

namespace {

using namespace rl;
using kernels::Convolution;
std::mt19937 rng(11);
int failures = 0, cases = 0;

int64_t below(int64_t n) { return int64_t(rng() % uint64_t(n)); }

Convolution random_convolution() {
  Convolution c;
  c.batch = 1 + below(3);
  const int64_t kind = below(4);
  c.groups = kind == 0 ? 1 + below(6) : kind == 1 ? 2 : 1;
  c.in_channels = c.groups * (kind == 0 ? 1 : 1 + below(kind == 3 ? 70 : 9));
  c.out_channels = c.groups * (kind == 0 ? 1 + below(2) : 1 + below(20));
  const int dims = 1 + int(below(3));
  const bool plain = below(5) == 0;  // kernel 1, stride 1
  for (int d = 3 - dims; d < 3; ++d) {
    c.in[d] = 1 + below(dims == 1 ? 90 : dims == 2 ? 24 : 8);
    if (!plain) {
      c.kernel[d] = 1 + below(4);
      c.stride[d] = 1 + below(3) * below(2);
      c.padding[d] = below(4);
      c.dilation[d] = 1 + below(2);
    }
    const int64_t reach = c.dilation[d] * (c.kernel[d] - 1) + 1;
    if (c.in[d] + 2 * c.padding[d] < reach) c.in[d] = reach;
    c.out[d] = (c.in[d] + 2 * c.padding[d] - reach) / c.stride[d] + 1;
  }
  return c;
}

// Calls f(output, input, weight) with the places of every product that makes up the output.
template <class F> void for_products(const Convolution& c, F&& f) {
  const int64_t gi = c.group_in(), go = c.group_out(), taps = c.taps();
  for (int64_t n = 0; n < c.batch; ++n)
  for (int64_t o = 0; o < c.out_channels; ++o)
  for (int64_t p = 0; p < c.out_size(); ++p)
  for (int64_t t = 0; t < taps; ++t) {
    const int64_t at[3] = {p / (c.out[2] * c.out[1]), p / c.out[2] % c.out[1], p % c.out[2]};
    const int64_t k[3] = {t / (c.kernel[2] * c.kernel[1]), t / c.kernel[2] % c.kernel[1],
                          t % c.kernel[2]};
    int64_t x = 0;
    bool inside = true;
    for (int d = 0; d < 3; ++d) {
      const int64_t i = at[d] * c.stride[d] - c.padding[d] + k[d] * c.dilation[d];
      inside = inside && i >= 0 && i < c.in[d];
      x = x * c.in[d] + i;
    }
    if (!inside) continue;
    for (int64_t i = 0; i < gi; ++i) {
      f((n * c.out_channels + o) * c.out_size() + p,
        (n * c.in_channels + o / go * gi + i) * c.in_size() + x, (o * gi + i) * taps + t);
    }
  }
}

template <class T> T narrow(double v) {
  if constexpr (std::is_same_v<T, Half>) return to_half(float(v));
  else if constexpr (std::is_same_v<T, BFloat16>) return to_bfloat16(float(v));
  else return T(v);
}
template <class T> double wide(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return to_float(v);
  else return double(v);
}

template <class T> std::vector<T> random_values(int64_t n) {
  std::vector<T> v(static_cast<size_t>(n));
  for (T& x : v) x = narrow<T>(double(below(17) - 8) / 8);
  return v;
}

template <class T>
void compare(const Convolution& c, const char* what, const std::vector<T>& got,
             const std::vector<double>& want) {
  const double limit = std::is_same_v<T, double> ? 1e-12
                       : std::is_same_v<T, float> ? 1e-5 : std::is_same_v<T, Half> ? 3e-3 : 2e-2;
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double error = std::abs(wide(got[i]) - want[i]) / (1 + std::abs(want[i]));
    if (!(error <= worst)) worst = error;
  }
  ++cases;
  if (worst <= limit) return;
  ++failures;
  std::printf("FAIL %s %s error %g: batch %ld channels %ld %ld groups %ld", what,
              typeid(T).name(), worst, long(c.batch), long(c.in_channels), long(c.out_channels),
              long(c.groups));
  for (int d = 0; d < 3; ++d) {
    std::printf(" | in %ld kernel %ld stride %ld padding %ld dilation %ld", long(c.in[d]),
                long(c.kernel[d]), long(c.stride[d]), long(c.padding[d]), long(c.dilation[d]));
  }
  std::printf("\n");
}

template <class T> void check(const Convolution& c) {
  constexpr DType dtype = DTypeOf<T>::value;
  const auto x = random_values<T>(c.batch * c.in_channels * c.in_size());
  const auto w = random_values<T>(c.out_channels * c.group_in() * c.taps());
  const auto b = random_values<T>(c.out_channels);
  const auto g = random_values<T>(c.batch * c.out_channels * c.out_size());
  const bool bias = below(2), relu = below(3) == 0;
  std::vector<T> y(g.size(), narrow<T>(99)), gx(x.size(), narrow<T>(99));
  std::vector<T> gw(w.size(), narrow<T>(99)), gb(b.size(), narrow<T>(99));
  std::vector<double> want_y(g.size()), want_gx(x.size()), want_gw(w.size()), want_gb(b.size());
  for (size_t i = 0; i < g.size(); ++i) {
    const size_t channel = i / size_t(c.out_size()) % size_t(c.out_channels);
    want_y[i] = bias ? wide(b[channel]) : 0;
    want_gb[channel] += wide(g[i]);
  }
  for_products(c, [&](int64_t out, int64_t in, int64_t weight) {
    const size_t o = size_t(out), i = size_t(in), k = size_t(weight);
    want_y[o] += wide(x[i]) * wide(w[k]);
    want_gx[i] += wide(g[o]) * wide(w[k]);
    want_gw[k] += wide(g[o]) * wide(x[i]);
  });
  for (double& v : want_y) v = relu && v < 0 ? 0 : v;
  kernels::conv_forward(dtype, c, y.data(), x.data(), w.data(), bias ? b.data() : nullptr, relu);
  kernels::conv_backward_input(dtype, c, gx.data(), g.data(), w.data());
  kernels::conv_backward_weight(dtype, c, gw.data(), g.data(), x.data());
  kernels::conv_backward_bias(dtype, c, gb.data(), g.data());
  compare(c, "forward", y, want_y);
  compare(c, "backward_input", gx, want_gx);
  compare(c, "backward_weight", gw, want_gw);
  compare(c, "backward_bias", gb, want_gb);
}

}  // namespace

int main() {
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (int i = 0; i < 250; ++i) check<float>(random_convolution());
    for (int i = 0; i < 100; ++i) check<double>(random_convolution());
    for (int i = 0; i < 10; ++i) {
      check<Half>(random_convolution());
      check<BFloat16>(random_convolution());
    }
  }
  std::printf("convolution: %d cases, %d failures\n", cases, failures);
  return failures != 0;
}
