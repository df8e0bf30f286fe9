// Fills that take a fixed number of draws per element, and the normal ones.
#include "kernels/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/level.h"
#include "kernels/levels/random.h"
#include "kernels/random_draws.h"

namespace rl::kernels {
namespace {

const RandomLoops& loops() {
#if defined(__x86_64__)
  if (cpu_level() == Level::Avx512) return level2::random_loops;
  if (cpu_level() == Level::Avx2) return level1::random_loops;
#endif
  return level0::random_loops;
}

template <class F> void for_real(DType t, F&& f) {
  dispatch(t, [&](auto* p) {
    if constexpr (!std::is_same_v<pointee<decltype(p)>, std::complex<float>> &&
                  !std::is_same_v<pointee<decltype(p)>, std::complex<double>>) {
      f(p);
    }
  });
}

// value = transform(a double in [0, 1)), cast.
template <class F> void fill_from_unit(Generator& g, Run out, F transform) {
  for_real(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    fill<T, 2>(g, out, [&](const uint32_t* b, int64_t) {
      return cast<T>(transform(unit_double(b)));
    });
  });
}

void uniform_float(Generator& g, float* out, int64_t n, float from, float to) {
  const auto loop = loops().uniform;
  uint32_t bits[512];
  for (int64_t i = 0; i < n; i += 512) {
    const int64_t m = std::min<int64_t>(512, n - i);
    g.random(bits, m);
    loop(bits, out + i, m, from, to);
  }
}

double next_normal(Generator& g, double mean, double std) {
  return std::fma(draw_normal(g), std, mean);
}

void normal_blocks(double* data, int64_t blocks, double mean, double std) {
  for (; blocks > 0; --blocks, data += 16) {
    for (int j = 0; j < 8; ++j) {
      const double radius = std::sqrt(-2 * std::log(1 - data[j]));
      const double angle = 2.0 * kPi * data[j + 8];
      data[j] = std::fma(radius * std::cos(angle), std, mean);
      data[j + 8] = std::fma(radius * std::sin(angle), std, mean);
    }
  }
}

// The whole row of uniform numbers is drawn first; a last block that is not full is drawn anew
// over the last 16.
template <class T, class Draw, class Blocks>
void normal_in_place(T* data, int64_t n, Draw draw, Blocks blocks) {
  draw(data, n);
  blocks(data, n / 16);
  if (n % 16 != 0) {
    draw(data + n - 16, 16);
    blocks(data + n - 16, 1);
  }
}

// Half types go through 16 floats at a time, so nothing is drawn for the part of a block.
template <class T>
void normal_through_float(Generator& g, T* data, int64_t n, float mean, float std) {
  const auto block = [&](T* to) {
    float values[16];
    uniform_float(g, values, 16, 0, 1);
    loops().normal(values, 1, mean, std);
    for (int i = 0; i < 16; ++i) to[i] = cast<T>(values[i]);
  };
  for (int64_t i = 0; i + 16 <= n; i += 16) block(data + i);
  if (n % 16 != 0) block(data + n - 16);
}

constexpr int digits_of(DType t) {
  return t == DType::Half ? 11 : t == DType::BFloat16 ? 8 : t == DType::Float ? 24 : 53;
}

int log2_floor(uint64_t v) { return v == 0 ? 0 : 63 - __builtin_clzll(v); }

int64_t rounded(DType t, int64_t v) {
  switch (t) {
    case DType::Half: return int64_t(to_float(to_half(float(v))));
    case DType::BFloat16: return int64_t(to_float(to_bfloat16(float(v))));
    case DType::Float: return int64_t(float(v));
    default: return int64_t(double(v));
  }
}

}  // namespace

double draw_normal(Generator& g) {
  if (g.next_normal) {
    const double value = *g.next_normal;
    g.next_normal.reset();
    return value;
  }
  uint32_t bits[4];
  g.random(bits, 4);
  const double angle = 2.0 * kPi * unit_double(bits);
  const double radius = std::sqrt(-2.0 * std::log1p(-unit_double(bits + 2)));
  g.next_normal = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void uniform(Generator& g, Run out, double from, double to) {
  if (out.dtype == DType::Float && out.stride == 4) {
    return uniform_float(g, static_cast<float*>(out.data), out.n, float(from), float(to));
  }
  if (out.dtype == DType::Double) {
    const double width = to - from;
    return fill<double, 2>(g, out, [=](const uint32_t* b, int64_t) {
      const double x = unit_double(b);
      const double value = from == 0 ? x * width : std::fma(x, width, from);
      return value == to ? from : value;
    });
  }
  for_floating(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const float low = float(from), high = float(to), width = high - low;
    const T first = cast<T>(from);
    const auto end = number(cast<T>(to));
    fill<T, 1>(g, out, [=](const uint32_t* b, int64_t) {
      const float x = unit_float(*b);
      const T value = cast<T>(low == 0 ? x * width : std::fma(x, width, low));
      return number(value) == end ? first : value;
    });
  });
}

void normal(Generator& g, Run out, double mean, double std) {
  for_floating(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for (int64_t i = 0; i < out.n; ++i) write(out, i, cast<T>(next_normal(g, mean, std)));
  });
}

void normal_dense(Generator& g, Run out, double mean, double std) {
  if (out.dtype == DType::Float) {
    normal_in_place(static_cast<float*>(out.data), out.n,
                    [&](float* p, int64_t n) { uniform_float(g, p, n, 0, 1); },
                    [&](float* p, int64_t n) { loops().normal(p, n, float(mean), float(std)); });
  } else if (out.dtype == DType::Double) {
    normal_in_place(static_cast<double*>(out.data), out.n,
                    [&](double* p, int64_t n) {
                      uniform(g, dense_run(p, DType::Double, n), 0, 1);
                    },
                    [&](double* p, int64_t n) { normal_blocks(p, n, mean, std); });
  } else {
    for_floating(out.dtype, [&](auto* p) {
      using T = pointee<decltype(p)>;
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        normal_through_float(g, static_cast<T*>(out.data), out.n, float(mean), float(std));
      }
    });
  }
}

void log_normal(Generator& g, Run out, double mean, double std) {
  for_floating(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for (int64_t i = 0; i < out.n; ++i) {
      write(out, i, cast<T>(std::exp(next_normal(g, mean, std))));
    }
  });
}

void cauchy(Generator& g, Run out, double median, double sigma) {
  fill_from_unit(g, out, [=](double u) {
    return std::fma(sigma, std::tan(kPi * (u - 0.5)), median);
  });
}

void exponential(Generator& g, Run out, double lambda) {
  const double scale = -1.0 / lambda;
  fill_from_unit(g, out, [=](double u) { return scale * std::log1p(-u); });
}

void geometric(Generator& g, Run out, double p) {
  const double base = std::log1p(-p);
  fill_from_unit(g, out, [=](double u) { return std::ceil(std::log(u) / base); });
}

void bernoulli(Generator& g, Run out, double p) {
  fill_from_unit(g, out, [=](double u) { return int(u < p); });
}

void bernoulli(Generator& g, Run out, ConstRun p) {
  for_real(out.dtype, [&](auto* o) {
    using T = pointee<decltype(o)>;
    for_floating(p.dtype, [&](auto* q) {
      using P = pointee<decltype(q)>;
      const auto prob = [&](int64_t i) { return number(read<P>(p, i)); };
      if constexpr (std::is_same_v<P, double>) {
        fill<T, 2>(g, out, [&](const uint32_t* b, int64_t i) {
          return cast<T>(int(unit_double(b) < prob(i)));
        });
      } else {
        fill<T, 1>(g, out, [&](const uint32_t* b, int64_t i) {
          return cast<T>(int(unit_float(*b) < prob(i)));
        });
      }
    });
  });
}

void random_range(Generator& g, Run out, uint64_t range, int64_t base) {
  for_real(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    if (range >= uint64_t(1) << 28) {
      fill<T, 2>(g, out, [=](const uint32_t* b, int64_t) {
        const uint64_t v = uint64_t(b[0]) << 32 | b[1];
        return cast<T>(int64_t(v % range + uint64_t(base)));
      });
    } else {
      const uint32_t small = uint32_t(range);
      fill<T, 1>(g, out, [=](const uint32_t* b, int64_t) {
        return cast<T>(int64_t(*b % small) + base);
      });
    }
  });
}

int64_t largest_natural(DType dtype) {
  if (dtype == DType::Bool) return 1;
  if (is_floating(dtype)) return int64_t(1) << digits_of(dtype);
  const int bits = int(item_size(dtype)) * 8 - (dtype != DType::UInt8);
  return int64_t((uint64_t(1) << bits) - 1);
}

void random_natural(Generator& g, Run out) {
  const uint64_t range = uint64_t(largest_natural(out.dtype)) + 1;
  for_real(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
      fill<T, 2>(g, out, [=](const uint32_t* b, int64_t) {
        return T((uint64_t(b[0]) << 32 | b[1]) % range);
      });
    } else {
      const auto small = uint32_t(range);
      fill<T, 1>(g, out, [=](const uint32_t* b, int64_t) { return cast<T>(int64_t(*b % small)); });
    }
  });
}

void random_all(Generator& g, Run out) {
  for_real(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    fill<T, 2>(g, out, [](const uint32_t* b, int64_t) {
      return cast<T>(int64_t(uint64_t(b[0]) << 32 | b[1]));
    });
  });
}

int64_t exact_from(DType dtype, int64_t from) {
  const int64_t next = rounded(dtype, from + 1);
  if (next >= from) return from;
  const uint64_t size = from + 1 < 0 ? uint64_t(0) - uint64_t(from + 1) : uint64_t(from + 1);
  return next + (int64_t(1) << (log2_floor(size) - digits_of(dtype) + 1));
}

int64_t exact_to(DType dtype, int64_t to) {
  const int64_t last = rounded(dtype, to - 1);
  if (last < to) return to;
  const uint64_t size = to - 1 < 0 ? uint64_t(0) - uint64_t(to - 1) : uint64_t(to - 1);
  return last - (int64_t(1) << (log2_floor(size) - digits_of(dtype) + 1));
}

}  // namespace rl::kernels
