// Sliding pooling of one plane: a row of outputs at a time, one tap of the window after another.
#include "kernels/levels/pooling_level.h"

#include "kernels/functors/integer.h"
#include "kernels/levels/registers.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace windows {
namespace {

constexpr int64_t kStretch = 256;  // outputs of a row in work at once

template <class T> struct Lowest;
template <> struct Lowest<float> { static constexpr float value = -__builtin_inff(); };
template <> struct Lowest<double> { static constexpr double value = -__builtin_inf(); };
template <> struct Lowest<int64_t> { static constexpr int64_t value = INT64_MIN; };

// An integer as wide as T, so that value and place are chosen by the same mask.
template <class T> struct Place { using type = int64_t; };
template <> struct Place<float> { using type = int32_t; };

RL_INLINE bool is_nan(float v) { return v != v; }
RL_INLINE bool is_nan(double v) { return v != v; }
RL_INLINE bool is_nan(int64_t) { return false; }

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// The outputs [low, high) of a stretch whose tap at `x` (for output 0) lies in a row of `size`.
struct Inside {
  int64_t low, high;
};
inline Inside inside(int64_t x, int64_t stride, int64_t size, int64_t count) {
  if (x >= 0 && x + (count - 1) * stride < size) return {0, count};  // mostly; no division
  Inside r;
  r.low = x < 0 ? (-x + stride - 1) / stride : 0;
  r.high = x >= size ? 0 : least(count, (size - x + stride - 1) / stride);
  if (r.low > r.high) r.low = r.high;
  return r;
}

// Calls f with the stride, as a constant where that helps the compiler.
template <int64_t N> struct Constant {
  constexpr operator int64_t() const { return N; }
};
template <class F> RL_INLINE void with_stride(int64_t stride, F&& f) {
  if (stride == 1) f(Constant<1>());
  else if (stride == 2) f(Constant<2>());
  else f(stride);
}

// Calls f(place in the plane of the row's first element) for the rows of the window of outputs
// (z, y), in order.
template <class F> RL_INLINE void for_rows(const Pooling& p, int64_t z, int64_t y, F&& f) {
  for (int64_t kz = 0; kz < p.kernel[0]; ++kz) {
    const int64_t iz = z * p.stride[0] - p.padding[0] + kz * p.dilation[0];
    if (iz < 0 || iz >= p.in[0]) continue;
    for (int64_t ky = 0; ky < p.kernel[1]; ++ky) {
      const int64_t iy = y * p.stride[1] - p.padding[1] + ky * p.dilation[1];
      if (iy >= 0 && iy < p.in[1]) f((iz * p.in[1] + iy) * p.in[2]);
    }
  }
}

// Calls f(place in the plane of the tap for output 0 of the stretch, its outputs inside) for all
// taps of the window of row (z, y), in order.
template <class F>
RL_INLINE void for_taps(const Pooling& p, int64_t z, int64_t y, int64_t x0, int64_t count, F&& f) {
  for_rows(p, z, y, [&](int64_t row) {
    for (int64_t kx = 0; kx < p.kernel[2]; ++kx) {
      const int64_t ix = x0 * p.stride[2] - p.padding[2] + kx * p.dilation[2];
      f(row + ix, inside(ix, p.stride[2], p.in[2], count));
    }
  });
}

// Calls f(z, y, first output, outputs) for each stretch of each row of outputs.
template <class F> RL_INLINE void for_stretches(const Pooling& p, F&& f) {
  for (int64_t z = 0; z < p.out[0]; ++z) {
    for (int64_t y = 0; y < p.out[1]; ++y) {
      for (int64_t x = 0; x < p.out[2]; x += kStretch) f(z, y, x, least(kStretch, p.out[2] - x));
    }
  }
}

inline int64_t first_inside(const Pooling& p, int d, int64_t o) {
  int64_t i = o * p.stride[d] - p.padding[d];
  if (i < 0) i += (-i + p.dilation[d] - 1) / p.dilation[d] * p.dilation[d];
  return i;
}

template <class T, class I>
void max_stretch(T* output, int64_t* indices, const Pooling& p, const T* input, int64_t z,
                 int64_t y, int64_t x0, int64_t count) {
  alignas(64) T best[kStretch];
  alignas(64) I place[kStretch];
  const int64_t row = (first_inside(p, 0, z) * p.in[1] + first_inside(p, 1, y)) * p.in[2];
  for (int64_t x = 0; x < count; ++x) {
    best[x] = Lowest<T>::value;
    place[x] = I(row + first_inside(p, 2, x0 + x));
  }
  for_taps(p, z, y, x0, count, [&](int64_t at, Inside in) {
    with_stride(p.stride[2], [&](auto stride) {
      for (int64_t x = in.low; x < in.high; ++x) {
        const T v = input[at + x * stride];
        const bool take = (v > best[x]) | is_nan(v);
        best[x] = take ? v : best[x];
        place[x] = take ? I(at + x * stride) : place[x];
      }
    });
  });
  const int64_t to = (z * p.out[1] + y) * p.out[2] + x0;
  for (int64_t x = 0; x < count; ++x) output[to + x] = best[x];
  if (indices) {
    for (int64_t x = 0; x < count; ++x) indices[to + x] = place[x];
  }
}

// Lanes<T>::count neighbours of a row from each other: those at even places, or at odd ones.
template <class V, class Index, int... L>
RL_INLINE V every_other(V a, V b, int odd, std::integer_sequence<int, L...>) {
  return __builtin_shuffle(a, b, Index{(2 * L)...} + odd);
}

// Windows two wide that follow each other: a vector of outputs at a time.
template <class T> void max_of_pairs(T* output, int64_t* indices, const Pooling& p, const T* input,
                                     int64_t z, int64_t y) {
  using V = tiles::Vec<T>;
  using Index = typename tiles::Lanes<T>::Index;
  constexpr int w = tiles::Lanes<T>::count;
  constexpr auto lanes = std::make_integer_sequence<int, w>();
  const auto twice = [&]<int... L>(std::integer_sequence<int, L...>) {
    return Index{(2 * L)...};
  }(lanes);
  using I = typename Place<T>::type;
  for (int64_t x = 0; x < p.out[2]; x += w) {
    const int count = int(least(w, p.out[2] - x));
    const tiles::Mask<T> low = tiles::first<T>(2 * count), high = tiles::first<T>(2 * count - w);
    V best = tiles::splat(Lowest<T>::value);
    Index place = I((first_inside(p, 0, z) * p.in[1] + first_inside(p, 1, y)) * p.in[2] + 2 * x) +
                  twice;
    for_rows(p, z, y, [&](int64_t row) {
      const int64_t at = row + 2 * x;
      const V a = tiles::load(input + at, low), b = tiles::load(input + at + w, high);
      for (int odd = 0; odd < 2; ++odd) {
        const V v = every_other<V, Index>(a, b, odd, lanes);
        const Index take = (v > best) | (v != v);
        best = take ? v : best;
        place = take ? I(at + odd) + twice : place;
      }
    });
    const int64_t to = (z * p.out[1] + y) * p.out[2] + x;
    tiles::store(output + to, best, tiles::first<T>(count));
    if (!indices) continue;
    for (int i = 0; i < count; ++i) indices[to + i] = place[i];
  }
}

bool in_pairs(const Pooling& p) {
  return p.kernel[2] == 2 && p.stride[2] == 2 && p.padding[2] == 0 && p.dilation[2] == 1 &&
         2 * p.out[2] <= p.in[2] && p.in_size() < INT32_MAX;
}

template <class T> void max(T* output, int64_t* indices, const Pooling& p, const T* input) {
  if constexpr (!std::is_same_v<T, int64_t>) {  // there are no vectors of int64 here
    if (in_pairs(p)) {
      for (int64_t z = 0; z < p.out[0]; ++z) {
        for (int64_t y = 0; y < p.out[1]; ++y) max_of_pairs(output, indices, p, input, z, y);
      }
      return;
    }
  }
  const bool narrow = p.in_size() < INT32_MAX;
  for_stretches(p, [&](int64_t z, int64_t y, int64_t x, int64_t count) {
    if (narrow) {
      max_stretch<T, typename Place<T>::type>(output, indices, p, input, z, y, x, count);
    } else {
      max_stretch<T, int64_t>(output, indices, p, input, z, y, x, count);
    }
  });
}

// The window of output o along d: its size with padding, and without.
struct Extent {
  int64_t padded, real;
};
inline Extent extent(const Pooling& p, int d, int64_t o) {
  const int64_t begin = o * p.stride[d] - p.padding[d];
  const int64_t end = least(begin + p.kernel[d], p.in[d] + p.padding[d]);
  const int64_t low = begin < 0 ? 0 : begin, high = least(end, p.in[d]);
  return {end - begin, high > low ? high - low : 0};
}
inline int64_t divisor(const Pooling& p, Extent z, Extent y, Extent x) {
  if (p.divisor) return p.divisor;
  return p.count_include_pad ? z.padded * y.padded * x.padded : z.real * y.real * x.real;
}

template <class T> RL_INLINE T share_of(T sum, int64_t by) {
  if constexpr (std::is_integral_v<T>) return fn::quotient_of(sum, by);
  else return sum / T(by);
}

template <class T> void average(T* output, const Pooling& p, const T* input) {
  for_stretches(p, [&](int64_t z, int64_t y, int64_t x0, int64_t count) {
    alignas(64) T sum[kStretch];
    for (int64_t x = 0; x < count; ++x) sum[x] = T(0);
    for_taps(p, z, y, x0, count, [&](int64_t at, Inside in) {
      with_stride(p.stride[2], [&](auto stride) {
        for (int64_t x = in.low; x < in.high; ++x)
          sum[x] = fn::plus(sum[x], input[at + x * stride]);
      });
    });
    const Extent ez = extent(p, 0, z), ey = extent(p, 1, y);
    T* to = output + (z * p.out[1] + y) * p.out[2] + x0;
    for (int64_t x = 0; x < count; ++x) {
      const Extent ex = extent(p, 2, x0 + x);
      to[x] = ez.real * ey.real * ex.real > 0 ? share_of(sum[x], divisor(p, ez, ey, ex)) : T(0);
    }
  });
}

template <class T>
void average_backward(T* grad_input, const Pooling& p, const T* grad_output) {
  for (int64_t i = 0; i < p.in_size(); ++i) grad_input[i] = T(0);
  for_stretches(p, [&](int64_t z, int64_t y, int64_t x0, int64_t count) {
    alignas(64) T share[kStretch];
    const Extent ez = extent(p, 0, z), ey = extent(p, 1, y);
    const T* from = grad_output + (z * p.out[1] + y) * p.out[2] + x0;
    for (int64_t x = 0; x < count; ++x) {
      const Extent ex = extent(p, 2, x0 + x);
      share[x] = ez.real * ey.real * ex.real > 0 ? share_of(from[x], divisor(p, ez, ey, ex)) : T(0);
    }
    for_taps(p, z, y, x0, count, [&](int64_t at, Inside in) {
      with_stride(p.stride[2], [&](auto stride) {
        for (int64_t x = in.low; x < in.high; ++x) {
          T& to = grad_input[at + x * stride];
          to = fn::plus(to, share[x]);
        }
      });
    });
  });
}

template <class T>
constexpr PoolingLevel<T> kLevel = {max<T>, average<T>, average_backward<T>};

}  // namespace
}  // namespace windows

extern const PoolingLevel<float> pooling_f32 = windows::kLevel<float>;
extern const PoolingLevel<double> pooling_f64 = windows::kLevel<double>;
extern const PoolingLevel<int64_t> pooling_i64 = windows::kLevel<int64_t>;

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
