// Depthwise convolution of one plane at a time, over a padded copy with columns sorted by phase.
#pragma once
#include "kernels/convolution.h"
#include "kernels/levels/registers.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles {

// Note [Spread planes]
// A spread plane is the padded input; each row is stored as stride[2] phases, phase f holding
// columns f, f + stride, ... So what a tap reads for neighbouring outputs lies side by side for
// every stride. Each phase ends with a vector of zeros that whole-vector reads may touch.
struct Spread {
  int64_t depth, height, width;  // of the padded input that the taps reach
  int64_t phase, row, slice;     // sizes in elements
};

template <class T> Spread spread_of(const Convolution& c) {
  Spread s;
  const auto reach = [&](int d) {
    return (c.out[d] - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d] + 1;
  };
  s.depth = reach(0);
  s.height = reach(1);
  s.width = reach(2);
  s.phase = (s.width + c.stride[2] - 1) / c.stride[2] + 2 * Lanes<T>::count;
  s.row = s.phase * c.stride[2];
  s.slice = s.row * s.height;
  return s;
}

template <class T> int64_t plane_size(const Convolution& c) {
  const Spread s = spread_of<T>(c);
  return s.depth * s.slice;
}

// Calls f(row in the spread plane, row of the image, or -1 where that is padding).
template <class F> void for_spread_rows(const Convolution& c, const Spread& s, F&& f) {
  for (int64_t z = 0; z < s.depth; ++z) {
    for (int64_t y = 0; y < s.height; ++y) {
      const int64_t iz = z - c.padding[0], iy = y - c.padding[1];
      const bool inside = iz >= 0 && iz < c.in[0] && iy >= 0 && iy < c.in[1];
      f(z * s.slice + y * s.row, inside ? (iz * c.in[1] + iy) * c.in[2] : int64_t(-1));
    }
  }
}

template <class T> void spread(T* space, const Convolution& c, const T* plane) {
  const Spread s = spread_of<T>(c);
  const int64_t step = c.stride[2], pad = c.padding[2];
  for_spread_rows(c, s, [&](int64_t to, int64_t from) {
    for (int64_t f = 0; f < step; ++f) {
      T* row = space + to + f * s.phase;
      // Columns f + i * step - pad of the image, for the i that are inside it.
      int64_t low = f >= pad ? 0 : (pad - f + step - 1) / step;
      int64_t high = (c.in[2] + pad - f + step - 1) / step;
      const int64_t reached = s.width > f ? (s.width - f + step - 1) / step : 0;
      if (high > reached) high = reached;
      if (from < 0 || high < low) low = high = 0;
      const T* line = plane + from + f - pad;
      for (int64_t i = 0; i < low; ++i) row[i] = T(0);
      if (step == 1) {
        for (int64_t i = low; i < high; ++i) row[i] = line[i];
      } else {
        for (int64_t i = low; i < high; ++i) row[i] = line[i * step];
      }
      for (int64_t i = high; i < s.phase; ++i) row[i] = T(0);
    }
  });
}

template <class T> void collect(T* plane, const Convolution& c, const T* space) {
  const Spread s = spread_of<T>(c);
  const int64_t step = c.stride[2], pad = c.padding[2];
  for (int64_t i = 0; i < c.in_size(); ++i) plane[i] = T(0);  // what no tap reaches
  for_spread_rows(c, s, [&](int64_t from, int64_t to) {
    if (to < 0) return;
    const int64_t most = s.width - pad < c.in[2] ? s.width - pad : c.in[2];
    for (int64_t x = pad < 0 ? -pad : 0; x < most; ++x) {
      const int64_t column = x + pad;
      plane[to + x] = space[from + column % step * s.phase + column / step];
    }
  });
}

// Where tap (z, y, x) of output row (oz, oy) starts in the spread plane.
inline int64_t tap_at(const Convolution& c, const Spread& s, int64_t oz, int64_t oy, int64_t z,
                      int64_t y, int64_t x) {
  const int64_t column = x * c.dilation[2];
  return (oz * c.stride[0] + z * c.dilation[0]) * s.slice +
         (oy * c.stride[1] + y * c.dilation[1]) * s.row + column % c.stride[2] * s.phase +
         column / c.stride[2];
}

template <class F> void for_plane_taps(const Convolution& c, F&& f) {
  int64_t tap = 0;
  for (int64_t z = 0; z < c.kernel[0]; ++z) {
    for (int64_t y = 0; y < c.kernel[1]; ++y) {
      for (int64_t x = 0; x < c.kernel[2]; ++x) f(tap++, z, y, x);
    }
  }
}

constexpr int64_t kTapsAtOnce = 128;

// N vectors of one output row; offsets are of the taps, relative to the row's first.
template <class T, int N>
RL_INLINE void plane_row(T* to, const T* from, const int64_t* offset, const T* weight,
                         int64_t taps, T bias, bool add, bool relu, Mask<T> last) {
  constexpr int w = Lanes<T>::count;
  Vec<T> acc[N];
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j) {
    acc[j] = !add ? splat(bias) : j == N - 1 ? load(to + j * w, last) : load(to + j * w);
  }
  for (int64_t t = 0; t < taps; ++t) {
    const Vec<T> x = splat(weight[t]);
    const T* p = from + offset[t];
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) acc[j] = fma(x, load(p + j * w), acc[j]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j) {
    const Vec<T> v = relu ? positive_part(acc[j]) : acc[j];
    if (j == N - 1) store(to + j * w, v, last);
    else store(to + j * w, v);
  }
}

template <class T>
void plane_forward(T* output, const Convolution& c, const T* space, const T* weight, T bias,
                   bool relu) {
  constexpr int w = Lanes<T>::count;
  const Spread s = spread_of<T>(c);
  const int64_t taps = c.taps(), width = c.out[2];
  for (int64_t t0 = 0; t0 < taps; t0 += kTapsAtOnce) {
    const int64_t n = taps - t0 < kTapsAtOnce ? taps - t0 : kTapsAtOnce;
    int64_t offset[kTapsAtOnce];
    for_plane_taps(c, [&](int64_t tap, int64_t z, int64_t y, int64_t x) {
      if (tap >= t0 && tap < t0 + n) offset[tap - t0] = tap_at(c, s, 0, 0, z, y, x);
    });
    const bool finish = relu && t0 + n == taps, add = t0 > 0;
    for (int64_t line = 0; line < c.out[0] * c.out[1]; ++line) {
      const T* from = space + tap_at(c, s, line / c.out[1], line % c.out[1], 0, 0, 0);
      T* to = output + line * width;
      int64_t x = 0;
      for (; x + 4 * w <= width; x += 4 * w) {
        plane_row<T, 4>(to + x, from + x, offset, weight + t0, n, bias, add, finish, first<T>(w));
      }
      const int64_t rest = width - x;
      const Mask<T> last = first<T>(int(rest - (rest - 1) / w * w));
      const int vectors = int((rest + w - 1) / w);
      const auto run = [&](auto count) {
        plane_row<T, decltype(count)::value>(to + x, from + x, offset, weight + t0, n, bias, add,
                                             finish, last);
      };
      if (vectors == 1) run(std::integral_constant<int, 1>());
      if (vectors == 2) run(std::integral_constant<int, 2>());
      if (vectors == 3) run(std::integral_constant<int, 3>());
      if (vectors == 4) run(std::integral_constant<int, 4>());
    }
  }
}

// Adds weight x grad to the spread plane, tap by tap: neighbouring taps write overlapping places,
// and a load that overlaps a store just made would wait for it.
template <class T>
void plane_backward(T* space, const Convolution& c, const T* grad, const T* weight) {
  constexpr int w = Lanes<T>::count;
  const Spread s = spread_of<T>(c);
  const int64_t width = c.out[2];
  const Mask<T> last = first<T>(int(width % w));
  for_plane_taps(c, [&](int64_t tap, int64_t z, int64_t y, int64_t x) {
    const Vec<T> v = splat(weight[tap]);
    for (int64_t line = 0; line < c.out[0] * c.out[1]; ++line) {
      const T* from = grad + line * width;
      T* to = space + tap_at(c, s, line / c.out[1], line % c.out[1], z, y, x);
      int64_t i = 0;
      for (; i + w <= width; i += w) store(to + i, fma(v, load(from + i), load(to + i)));
      if (i < width) store(to + i, fma(v, load(from + i, last), load(to + i)));
    }
  });
}

// Adds one plane's part of the weight's gradient.
template <class T>
void plane_weight(T* grad_weight, const Convolution& c, const T* space, const T* grad) {
  constexpr int w = Lanes<T>::count;
  const Spread s = spread_of<T>(c);
  const int64_t width = c.out[2];
  const Mask<T> last = first<T>(int(width % w));
  for_plane_taps(c, [&](int64_t tap, int64_t z, int64_t y, int64_t x) {
    Vec<T> sum[4] = {};
    for (int64_t line = 0; line < c.out[0] * c.out[1]; ++line) {
      const T* a = grad + line * width;
      const T* b = space + tap_at(c, s, line / c.out[1], line % c.out[1], z, y, x);
      int64_t i = 0;
      for (; i + 4 * w <= width; i += 4 * w) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) sum[j] = fma(load(a + i + j * w), load(b + i + j * w), sum[j]);
      }
      for (; i + w <= width; i += w) sum[0] = fma(load(a + i), load(b + i), sum[0]);
      if (i < width) sum[3] = fma(load(a + i, last), load(b + i), sum[3]);
    }
    grad_weight[tap] += sum_lanes<T>((sum[0] + sum[1]) + (sum[2] + sum[3]));
  });
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles
