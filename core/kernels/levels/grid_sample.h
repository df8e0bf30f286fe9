// Loops of grid sampling over blocks of samples.
#pragma once
#include <cstdint>

#include "kernels/grid_sample.h"
#include "kernels/levels/table.h"

namespace rl::kernels {

constexpr int64_t kGridBlock = 256;  // samples
constexpr int kMostTaps = 16;

// The elements that each sample of a block is made of, -1 for one outside, with their weights and
// these weights' derivatives by the grid's numbers (x, y, z; xx, xy, xz, yy, yz, zz).
template <class T> struct GridTaps {
  int count;
  alignas(64) int32_t index[kMostTaps][kGridBlock];
  alignas(64) T weight[kMostTaps][kGridBlock];
  alignas(64) T first[3][kMostTaps][kGridBlock];
  alignas(64) T second[6][kMostTaps][kGridBlock];
};

template <class T> struct GridLoops {
  // The taps of n samples; `order` says how many derivatives are wanted, 0 to 2.
  void (*find)(GridTaps<T>& taps, const GridSample& s, const T* grid, int64_t n, int order);
  // out[i] (+)= sum over taps of weight * in[index].
  void (*sample)(T* out, const T* in, const GridTaps<T>& taps, const T (*weight)[kGridBlock],
                 int64_t n, bool add);
  // products[k][i] += by[i] * in[index of tap k].
  void (*multiply)(T (*products)[kGridBlock], const T* by, const T* in, const GridTaps<T>& taps,
                   int64_t n);
};
RL_LEVEL_TABLES(GridLoops, grid_loops)

}  // namespace rl::kernels
