// Softmax loops over one row, or over `width` neighbouring columns `stride` elements apart per row.
#pragma once
#include <cstdint>

#include "kernels/levels/table.h"

namespace rl::kernels {

template <class T> struct SoftmaxLoops {
  void (*softmax)(const T* x, T* y, int64_t n);
  void (*log_softmax)(const T* x, T* y, int64_t n);
  void (*softmax_backward)(const T* grad, const T* y, T* dx, int64_t n);
  void (*log_softmax_backward)(const T* grad, const T* y, T* dx, int64_t n);
  void (*softmax_columns)(const T* x, T* y, int64_t n, int64_t stride, int64_t width);
  void (*log_softmax_columns)(const T* x, T* y, int64_t n, int64_t stride, int64_t width);
  void (*softmax_backward_columns)(const T* grad, const T* y, T* dx, int64_t n, int64_t stride,
                                   int64_t width);
  void (*log_softmax_backward_columns)(const T* grad, const T* y, T* dx, int64_t n,
                                       int64_t stride, int64_t width);
};
RL_LEVEL_TABLES(SoftmaxLoops, softmax_loops)

}  // namespace rl::kernels
