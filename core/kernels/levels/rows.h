// Loops that add one row to another: what embeddings and lists of gradients are made of.
#pragma once
#include <cstdint>

#include "kernels/levels/table.h"

namespace rl::kernels {

template <class T> struct RowLoops {
  void (*add)(const T* x, T* y, int64_t n);              // y += x
  void (*add_scaled)(const T* x, T a, T* y, int64_t n);  // y += a x
  void (*add_many)(const T* const* x, int64_t rows, T* y, int64_t n);  // y += each x
  void (*scale)(T* x, T a, int64_t n);                   // x *= a
  void (*divide)(T* x, T a, int64_t n);                  // x /= a
  T (*dot)(const T* x, const T* y, int64_t n);
  T (*sum)(const T* x, int64_t n);
};
RL_LEVEL_TABLES(RowLoops, row_loops)

}  // namespace rl::kernels
