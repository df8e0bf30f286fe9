// Loops of resampling: weighted sums of gathered elements, and of whole rows.
#pragma once
#include <cstdint>

#include "kernels/levels/table.h"

namespace rl::kernels {

// out[i] = sum over k < width of weight[k * step + i] * in[index[k * step + i]], for i < n. Taps of
// an output that are mere filling have weight 0 and, if `filled`, count for nothing even where the
// input is not finite.
template <class T> struct Gathering {
  int64_t n, step, width;
  const int32_t* index;
  const T* weight;
  bool filled;
};

template <class T> struct ResampleLoops {
  // The same gathering for `lines` lines.
  void (*gather)(T* out, int64_t out_step, const T* in, int64_t in_step, int64_t lines,
                 const Gathering<T>& taps);
  // out = sum of width rows of n elements, each times its weight.
  void (*combine)(T* out, const T* const* rows, const T* weights, int64_t width, int64_t n);
};
RL_LEVEL_TABLES(ResampleLoops, resample_loops)

}  // namespace rl::kernels
