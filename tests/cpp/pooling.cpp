// Pooling and its gradients against naive loops: padding, dilation, ceil_mode, adaptive, NaN.
#include "kernels/pooling.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "base/parallel.h"

namespace {

using namespace rl;
using kernels::Pooling;
std::mt19937 rng(5);
int failures = 0, cases = 0;

int64_t below(int64_t n) { return int64_t(rng() % uint64_t(n)); }

Pooling random_pooling(bool adaptive, bool dilated) {
  Pooling p;
  p.planes = 1 + below(5);
  const int dims = 1 + int(below(3));
  for (int d = 3 - dims; d < 3; ++d) {
    p.in[d] = 1 + below(dims == 1 ? 700 : dims == 2 ? 20 : 8);
    if (adaptive) {
      p.out[d] = 1 + below(9);
      continue;
    }
    p.kernel[d] = 1 + below(4);
    p.stride[d] = 1 + below(3);
    p.padding[d] = below(p.kernel[d] / 2 + 1);
    p.dilation[d] = dilated ? 1 + below(2) : 1;
    const int64_t reach = p.dilation[d] * (p.kernel[d] - 1) + 1;
    if (p.in[d] < reach) p.in[d] = reach;
    const int64_t span = p.in[d] + 2 * p.padding[d] - reach, s = p.stride[d];
    const bool ceil_mode = below(2);
    p.out[d] = (span + (ceil_mode ? s - 1 : 0)) / s + 1;
    if (ceil_mode && (p.out[d] - 1) * s >= p.in[d] + p.padding[d]) --p.out[d];
  }
  p.count_include_pad = below(2);
  p.divisor = below(4) == 0 ? 3 : 0;
  return p;
}

// The input places of output o of a plane, in order, and the size of its window with padding.
struct Taps {
  std::vector<int64_t> places;
  int64_t padded = 1;
};
Taps taps_of(const Pooling& p, int64_t o, bool adaptive) {
  const int64_t at[3] = {o / (p.out[2] * p.out[1]), o / p.out[2] % p.out[1], o % p.out[2]};
  std::vector<int64_t> axis[3];
  Taps t;
  for (int d = 0; d < 3; ++d) {
    if (adaptive) {
      const double scale = double(p.in[d]) / double(p.out[d]);
      const int64_t begin = int64_t(std::floor(double(at[d]) * scale + 1e-9));
      const int64_t end = int64_t(std::ceil(double(at[d] + 1) * scale - 1e-9));
      for (int64_t i = begin; i < end; ++i) axis[d].push_back(i);
      continue;
    }
    int64_t padded = 0;
    for (int64_t k = 0; k < p.kernel[d]; ++k) {
      const int64_t i = at[d] * p.stride[d] - p.padding[d] + k * p.dilation[d];
      padded += i < p.in[d] + p.padding[d];
      if (i >= 0 && i < p.in[d]) axis[d].push_back(i);
    }
    t.padded *= padded;
  }
  for (int64_t z : axis[0]) {
    for (int64_t y : axis[1]) {
      for (int64_t x : axis[2]) t.places.push_back((z * p.in[1] + y) * p.in[2] + x);
    }
  }
  return t;
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
template <class T> std::vector<T> random_values(int64_t n, bool nan) {
  std::vector<T> v(static_cast<size_t>(n));
  for (T& x : v) x = narrow<T>(double(below(33) - 16) / (std::is_integral_v<T> ? 1 : 8));
  if (nan && !std::is_integral_v<T>) {
    v[size_t(below(n))] = narrow<T>(std::numeric_limits<double>::quiet_NaN());
  }
  return v;
}

template <class T>
void compare(const Pooling& p, const char* what, const std::vector<T>& got,
             const std::vector<double>& want) {
  const double limit = sizeof(T) == 8 ? 1e-12 : sizeof(T) == 4 ? 1e-5 : 1e-2;
  ++cases;
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = wide(got[i]), w = std::is_integral_v<T> ? std::trunc(want[i]) : want[i];
    if (std::isnan(g) && std::isnan(w)) continue;
    if (g == w || std::abs(g - w) <= limit * (1 + std::abs(w))) continue;
    ++failures;
    std::printf("FAIL %s %s at %zu: %g, not %g\n", what, typeid(T).name(), i, g, w);
    for (int d = 0; d < 3; ++d) {
      std::printf("  in %ld out %ld kernel %ld stride %ld padding %ld dilation %ld\n",
                  long(p.in[d]), long(p.out[d]), long(p.kernel[d]), long(p.stride[d]),
                  long(p.padding[d]), long(p.dilation[d]));
    }
    return;
  }
}

template <class T> void check_max(bool adaptive) {
  constexpr DType dtype = DTypeOf<T>::value;
  const Pooling p = random_pooling(adaptive, true);
  const int64_t outs = p.planes * p.out_size(), ins = p.planes * p.in_size();
  const auto x = random_values<T>(ins, below(3) == 0), g = random_values<T>(outs, false);
  std::vector<T> y(g.size(), narrow<T>(99)), gx(x.size(), narrow<T>(99));
  std::vector<int64_t> indices(g.size(), -7);
  std::vector<double> want_y(g.size()), want_places(g.size()), want_gx(x.size());
  for (int64_t o = 0; o < outs; ++o) {
    const int64_t plane = o / p.out_size() * p.in_size();
    int64_t best = -1;
    for (int64_t at : taps_of(p, o % p.out_size(), adaptive).places) {
      const double v = wide(x[size_t(plane + at)]);
      if (best < 0 || v > wide(x[size_t(plane + best)]) || std::isnan(v)) best = at;
    }
    want_y[size_t(o)] = wide(x[size_t(plane + best)]);
    want_places[size_t(o)] = double(best);
    want_gx[size_t(plane + best)] += wide(g[size_t(o)]);
  }
  const auto run = adaptive ? kernels::adaptive_max_pool : kernels::max_pool;
  run(dtype, p, y.data(), indices.data(), x.data());
  kernels::max_pool_backward(dtype, p, gx.data(), g.data(), indices.data());
  compare(p, "max", y, want_y);
  compare(p, "max indices", indices, want_places);
  compare(p, "max_backward", gx, want_gx);
  run(dtype, p, y.data(), nullptr, x.data());
  compare(p, "max without indices", y, want_y);
}

template <class T> void check_average(bool adaptive) {
  constexpr DType dtype = DTypeOf<T>::value;
  const Pooling p = random_pooling(adaptive, false);
  const int64_t outs = p.planes * p.out_size(), ins = p.planes * p.in_size();
  const auto x = random_values<T>(ins, false), g = random_values<T>(outs, false);
  std::vector<T> y(g.size(), narrow<T>(99)), gx(x.size(), narrow<T>(99));
  std::vector<double> want_y(g.size()), want_gx(x.size());
  for (int64_t o = 0; o < outs; ++o) {
    const int64_t plane = o / p.out_size() * p.in_size();
    const Taps taps = taps_of(p, o % p.out_size(), adaptive);
    const int64_t inside = int64_t(taps.places.size());
    const double divisor = double(adaptive              ? inside
                                  : p.divisor           ? p.divisor
                                  : p.count_include_pad ? taps.padded : inside);
    for (int64_t at : taps.places) {
      want_y[size_t(o)] += wide(x[size_t(plane + at)]) / divisor;
      const double share = wide(g[size_t(o)]) / divisor;
      want_gx[size_t(plane + at)] += std::is_integral_v<T> ? std::trunc(share) : share;
    }
    if (std::is_integral_v<T>) want_y[size_t(o)] = std::round(want_y[size_t(o)] * 1e9) / 1e9;
  }
  if (adaptive) {
    kernels::adaptive_avg_pool(dtype, p, y.data(), x.data());
    kernels::adaptive_avg_pool_backward(dtype, p, gx.data(), g.data());
  } else {
    kernels::avg_pool(dtype, p, y.data(), x.data());
    kernels::avg_pool_backward(dtype, p, gx.data(), g.data());
  }
  compare(p, adaptive ? "adaptive_avg" : "avg", y, want_y);
  compare(p, adaptive ? "adaptive_avg_backward" : "avg_backward", gx, want_gx);
}

template <class T> void check_all(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    check_max<T>(false);
    check_max<T>(true);
    check_average<T>(false);
    check_average<T>(true);
  }
}

}  // namespace

int main() {
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    check_all<float>(250);
    check_all<double>(100);
    check_all<int64_t>(50);
    check_all<Half>(15);
    check_all<BFloat16>(15);
  }
  std::printf("pooling: %d cases, %d failures\n", cases, failures);
  return failures != 0;
}
