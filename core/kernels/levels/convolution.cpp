// Convolution's data movement: image to product operands and back.
#include "kernels/levels/convolution_level.h"

#include "kernels/levels/depthwise.h"
#include "kernels/levels/registers.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace tiles {
namespace {

// Output pixels of one row of the image that lie side by side.
struct Run {
  int64_t pixel, count;    // first pixel, counted from the start of the request
  int64_t at[3];           // input position of the first pixel at tap 0; may lie outside
};

// What one tap reads for a run: pixels [low, high) of it from `offset` on, zeros elsewhere.
struct Reach {
  int64_t low, high, offset;
};

inline Run run_at(const Convolution& c, int64_t begin, int64_t pixel, int64_t end) {
  const int64_t x = pixel % c.out[2], line = pixel / c.out[2];
  const int64_t y = line % c.out[1], z = line / c.out[1];
  const int64_t rest = c.out[2] - x;
  return {pixel - begin,
          end - pixel < rest ? end - pixel : rest,
          {z * c.stride[0] - c.padding[0], y * c.stride[1] - c.padding[1],
           x * c.stride[2] - c.padding[2]}};
}

inline Reach reach_of(const Convolution& c, const Run& run, int64_t kz, int64_t ky, int64_t kx) {
  const int64_t z = run.at[0] + kz * c.dilation[0], y = run.at[1] + ky * c.dilation[1];
  const int64_t x = run.at[2] + kx * c.dilation[2], s = c.stride[2];
  if (z < 0 || z >= c.in[0] || y < 0 || y >= c.in[1]) return {0, 0, 0};
  int64_t low = x < 0 ? (-x + s - 1) / s : 0;
  int64_t high = x >= c.in[2] ? 0 : (c.in[2] - x + s - 1) / s;
  if (high > run.count) high = run.count;
  if (low > high) low = high;
  return {low, high, (z * c.in[1] + y) * c.in[2] + x};
}

template <class F> void for_taps(const Convolution& c, F&& f) {
  int64_t tap = 0;
  for (int64_t z = 0; z < c.kernel[0]; ++z) {
    for (int64_t y = 0; y < c.kernel[1]; ++y) {
      for (int64_t x = 0; x < c.kernel[2]; ++x) f(tap++, z, y, x);
    }
  }
}

template <class T> constexpr int kPanel = 2 * Lanes<T>::count;

// One row of a panel for one channel and tap, from scattered pixels; offset -1 reads zero.
template <class T>
void copy_scattered(T* to, const T* from, int64_t channels, int64_t to_step, int64_t from_step,
                    const int64_t* offset) {
  for (int64_t c = 0; c < channels; ++c, to += to_step, from += from_step) {
    for (int i = 0; i < kPanel<T>; ++i) to[i] = offset[i] < 0 ? T(0) : from[offset[i]];
  }
}

#if RL_LEVEL > 0
constexpr int kMaskedRuns = 4;

RL_INLINE Mask<float> between(Mask<float> low, Mask<float> high) {
#if RL_LEVEL == 2
  return {high.bits & ~low.bits};
#else
  return {high.lanes & ~low.lanes, 0};
#endif
}
RL_INLINE Mask<double> between(Mask<double> low, Mask<double> high) {
#if RL_LEVEL == 2
  return {high.bits & ~low.bits};
#else
  return {high.lanes & ~low.lanes, 0};
#endif
}

// Every second value of two vectors, the second of which starts on the first's last lane, so that
// nothing beyond the last value is read.
template <class T, int... L>
RL_INLINE Vec<T> every_second(Vec<T> a, Vec<T> b, std::integer_sequence<int, L...>) {
  constexpr int w = Lanes<T>::count;
  using Index = typename Lanes<T>::Index;
  return __builtin_shuffle(a, b, Index{(2 * L < w ? 2 * L : 2 * L + 1)...});
}

// Runs of stride 1 or 2, joined from masked loads; lanes outside all runs are zero. Pixel i of a
// run is read at start + i * Stride.
template <class T, int Runs, int Stride>
void copy_masked(T* to, const T* from, int64_t channels, int64_t to_step, int64_t from_step,
                 const int64_t* start, const int* low, const int* high) {
  constexpr int w = Lanes<T>::count;
  using Index = typename Lanes<T>::Index;
  Mask<T> mask[Runs][2 * Stride];
  constexpr int step = Stride == 1 ? w : w - 1;  // from a vector to the second of its pair
#pragma GCC unroll 4
  for (int r = 0; r < Runs; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < 2 * Stride; ++j) {
      const int at = Stride == 1 ? j * w : j / 2 * 2 * w + j % 2 * step;
      mask[r][j] = between(first<T>(low[r] * Stride - at), first<T>(high[r] * Stride - at));
    }
  }
  for (int64_t c = 0; c < channels; ++c, to += to_step, from += from_step) {
    Index sum[2] = {};
#pragma GCC unroll 4
    for (int r = 0; r < Runs; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        const T* p = from + start[r] + j * w * Stride;
        if constexpr (Stride == 1) {
          sum[j] |= Index(load(p, mask[r][j]));
        } else {
          sum[j] |= Index(every_second<T>(load(p, mask[r][2 * j]),
                                          load(p + step, mask[r][2 * j + 1]),
                                          std::make_integer_sequence<int, w>()));
        }
      }
    }
    store(to, Vec<T>(sum[0]));
    store(to + w, Vec<T>(sum[1]));
  }
}

template <class T, int Stride>
void copy_runs_of(T* to, const T* from, int64_t channels, int64_t to_step, int64_t from_step,
                  int n, const int64_t* start, const int* low, const int* high) {
  if (n == 1) copy_masked<T, 1, Stride>(to, from, channels, to_step, from_step, start, low, high);
  if (n == 2) copy_masked<T, 2, Stride>(to, from, channels, to_step, from_step, start, low, high);
  if (n == 3) copy_masked<T, 3, Stride>(to, from, channels, to_step, from_step, start, low, high);
  if (n == 4) copy_masked<T, 4, Stride>(to, from, channels, to_step, from_step, start, low, high);
}

template <class T>
void copy_runs(T* to, const T* from, int64_t channels, int64_t to_step, int64_t from_step,
               int64_t stride, int n, const int64_t* start, const int* low, const int* high) {
  constexpr int w = Lanes<T>::count;
  if (stride == 2) {
    return copy_runs_of<T, 2>(to, from, channels, to_step, from_step, n, start, low, high);
  }
  if (n != 1 || low[0] != 0 || high[0] != 2 * w) {
    return copy_runs_of<T, 1>(to, from, channels, to_step, from_step, n, start, low, high);
  }
  for (int64_t c = 0; c < channels; ++c, to += to_step, from += from_step) {
    const Vec<T> a = load(from + start[0]), b = load(from + start[0] + w);
    store(to, a);
    store(to + w, b);
  }
}
#else
constexpr int kMaskedRuns = 0;
template <class T>
void copy_runs(T*, const T*, int64_t, int64_t, int64_t, int64_t, int, const int64_t*, const int*,
               const int*) {}
#endif

template <class T>
void gather_panel(T* to, const Convolution& c, const T* image, int64_t channels, int64_t begin,
                  int64_t end) {
  Run runs[kPanel<T>];
  int count = 0;
  for (int64_t p = begin; p < end; p += runs[count++].count) runs[count] = run_at(c, begin, p, end);
  const int64_t taps = c.taps(), to_step = taps * kPanel<T>, from_step = c.in_size();
  for_taps(c, [&](int64_t tap, int64_t kz, int64_t ky, int64_t kx) {
    T* const row = to + tap * kPanel<T>;
    if (c.stride[2] <= 2 && count <= kMaskedRuns) {
      int64_t start[kPanel<T>];
      int low[kPanel<T>], high[kPanel<T>];
      for (int r = 0; r < count; ++r) {
        const Reach reach = reach_of(c, runs[r], kz, ky, kx);
        start[r] = reach.offset - runs[r].pixel * c.stride[2];
        low[r] = int(runs[r].pixel + reach.low);
        high[r] = int(runs[r].pixel + reach.high);
      }
      return copy_runs(row, image, channels, to_step, from_step, c.stride[2], count, start, low,
                       high);
    }
    int64_t offset[kPanel<T>];
    for (int i = 0; i < kPanel<T>; ++i) offset[i] = -1;
    for (int r = 0; r < count; ++r) {
      const Reach reach = reach_of(c, runs[r], kz, ky, kx);
      for (int64_t i = reach.low; i < reach.high; ++i) {
        offset[runs[r].pixel + i] = reach.offset + i * c.stride[2];
      }
    }
    copy_scattered(row, image, channels, to_step, from_step, offset);
  });
}

template <class T>
void gather(T* to, const Convolution& c, const T* image, int64_t channels, int64_t begin,
            int64_t end) {
  for (int64_t p = begin; p < end; p += kPanel<T>) {
    const int64_t stop = end - p < kPanel<T> ? end : p + kPanel<T>;
    gather_panel(to, c, image, channels, p, stop);
    to += channels * c.taps() * kPanel<T>;
  }
}

template <class T>
void columns(T* to, const Convolution& c, const T* image, int64_t channels, int64_t begin,
             int64_t end) {
  const int64_t width = end - begin, taps = c.taps(), s = c.stride[2];
  for (int64_t p = begin; p < end;) {
    const Run run = run_at(c, begin, p, end);
    p += run.count;
    for_taps(c, [&](int64_t tap, int64_t kz, int64_t ky, int64_t kx) {
      const Reach reach = reach_of(c, run, kz, ky, kx);
      T* row = to + tap * width + run.pixel;
      const T* from = image + reach.offset;
      for (int64_t ch = 0; ch < channels; ++ch, row += taps * width, from += c.in_size()) {
        for (int64_t i = 0; i < reach.low; ++i) row[i] = T(0);
        if (s == 1) {
          for (int64_t i = reach.low; i < reach.high; ++i) row[i] = from[i];
        } else if (s == 2) {
          for (int64_t i = reach.low; i < reach.high; ++i) row[i] = from[i * 2];
        } else {
          for (int64_t i = reach.low; i < reach.high; ++i) row[i] = from[i * s];
        }
        for (int64_t i = reach.high; i < run.count; ++i) row[i] = T(0);
      }
    });
  }
}

template <class T>
void scatter(T* image, const Convolution& c, const T* from, int64_t channels, int64_t begin,
             int64_t end) {
  const int64_t width = end - begin, taps = c.taps(), s = c.stride[2];
  for (int64_t p = begin; p < end;) {
    const Run run = run_at(c, begin, p, end);
    p += run.count;
    for_taps(c, [&](int64_t tap, int64_t kz, int64_t ky, int64_t kx) {
      const Reach reach = reach_of(c, run, kz, ky, kx);
      const T* row = from + tap * width + run.pixel;
      T* to = image + reach.offset;
      for (int64_t ch = 0; ch < channels; ++ch, row += taps * width, to += c.in_size()) {
        if (s == 1) {
          for (int64_t i = reach.low; i < reach.high; ++i) to[i] += row[i];
        } else {
          for (int64_t i = reach.low; i < reach.high; ++i) to[i * s] += row[i];
        }
      }
    });
  }
}

template <class T>
constexpr ConvolutionLevel<T> kLevel = {gather<T>,  columns<T>,       scatter<T>,
                                        plane_size<T>, spread<T>,     collect<T>,
                                        plane_forward<T>, plane_backward<T>, plane_weight<T>};

}  // namespace
}  // namespace tiles

extern const ConvolutionLevel<float> convolution_f32 = tiles::kLevel<float>;
extern const ConvolutionLevel<double> convolution_f64 = tiles::kLevel<double>;

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
