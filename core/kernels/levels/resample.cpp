// Resampling of lines and rows.
#include "kernels/levels/resample.h"

#include "kernels/levels/gather.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace resampling {
namespace {

template <class T> RL_INLINE T one_sum(const T* in, const Gathering<T>& taps, int64_t i) {
  T sum = taps.weight[i] * in[taps.index[i]];
  for (int64_t k = 1; k < taps.width; ++k) {
    const T w = taps.weight[k * taps.step + i];
    if (!taps.filled || w != 0) sum += w * in[taps.index[k * taps.step + i]];
  }
  return sum;
}

template <class T>
void gather_line(T* out, const T* in, const Gathering<T>& taps) {
  int64_t i = 0;
  for (; i + kLanes<T> <= taps.n; i += kLanes<T>) {
    Lanes<T> sum = load(taps.weight + i, Full{}) * gather(in, load_places<T>(taps.index + i));
    for (int64_t k = 1; k < taps.width; ++k) {
      const int64_t at = k * taps.step + i;
      const Lanes<T> w = load(taps.weight + at, Full{});
      const Lanes<T> part = w * gather(in, load_places<T>(taps.index + at));
      sum += taps.filled ? (w != 0 ? part : Lanes<T>{}) : part;
    }
    store(out + i, sum, Full{});
  }
  for (; i < taps.n; ++i) out[i] = one_sum(in, taps, i);
}

template <class T>
void gather_lines(T* out, int64_t out_step, const T* in, int64_t in_step, int64_t lines,
                  const Gathering<T>& taps) {
  for (int64_t l = 0; l < lines; ++l) gather_line(out + l * out_step, in + l * in_step, taps);
}

template <class T>
void combine(T* out, const T* const* rows, const T* weights, int64_t width, int64_t n) {
  if (width == 2) {
    const T *a = rows[0], *b = rows[1], u = weights[0], v = weights[1];
    sweep<T>(n, [&](int64_t i, auto lanes) {
      store(out + i, load(a + i, lanes) * u + load(b + i, lanes) * v, lanes);
    });
    return;
  }
  sweep<T>(n, [&](int64_t i, auto lanes) {
    Lanes<T> sum = load(rows[0] + i, lanes) * weights[0];
    for (int64_t k = 1; k < width; ++k) sum += load(rows[k] + i, lanes) * weights[k];
    store(out + i, sum, lanes);
  });
}

template <class T> constexpr ResampleLoops<T> table() { return {gather_lines<T>, combine<T>}; }

}  // namespace
}  // namespace resampling

const ResampleLoops<float> resample_loops_float = resampling::table<float>();
const ResampleLoops<double> resample_loops_double = resampling::table<double>();

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
