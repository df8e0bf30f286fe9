// Which elements of a line a resampled element is made of, and how much of each.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/resample.h"

namespace rl::kernels {

// Of one dimension: out lines of at most `width` taps, tap k of element o at [k * out + o]. Taps
// that fill up a shorter list repeat its last place with weight 0.
template <class T> struct Taps {
  int64_t in = 1, out = 1, width = 1;
  bool filled = false;
  std::vector<int32_t> index;
  std::vector<T> weight;

  bool identity() const {
    if (in != out || width != 1) return false;
    for (int64_t o = 0; o < out; ++o)
      if (index[size_t(o)] != o || weight[size_t(o)] != 1) return false;
    return true;
  }
};

template <class T> Taps<T> taps_of(const Resampling& r, int d);
// Those of the gradient: which results an input's element went into.
template <class T> Taps<T> transposed(const Taps<T>& taps);
// For the nearest modes: the place that each element comes from.
std::vector<int64_t> nearest_places(const Resampling& r, int d);

}  // namespace rl::kernels
