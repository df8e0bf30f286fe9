// What each vector level offers for matrix products; one serial call each.
#pragma once
#include <cstdint>

#include "base/level.h"

namespace rl::kernels {

// C = relu(alpha * A @ B + beta * C + bias) on one thread; strides in elements.
template <class T> struct Tile {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row, b_col;
  T* c;
  int64_t c_row, c_col;
  T alpha, beta;
  const T* bias;
  bool bias_per_row, relu;
};

template <class T> struct GemmLevel {
  int mr, nr;
  void (*product)(const Tile<T>& tile);
  // Operands already packed (Note [Packing]): A by pack_a, panels of mr rows; B by the caller,
  // panels of nr columns, each k rows of nr values. Of the tile, a and b do not count.
  void (*packed)(const Tile<T>& tile, const T* a, const T* b);
  void (*pack_a)(T* to, const T* from, int64_t row, int64_t col, int64_t m, int64_t k);
};

#define RL_DECLARE_GEMM(level)            \
  namespace level {                       \
  extern const GemmLevel<float> gemm_f32;  \
  extern const GemmLevel<double> gemm_f64; \
  }
RL_DECLARE_GEMM(level0)
#if defined(__x86_64__)
RL_DECLARE_GEMM(level1)
RL_DECLARE_GEMM(level2)
#endif
#undef RL_DECLARE_GEMM

template <class T> const GemmLevel<T>& gemm_level();
template <> inline const GemmLevel<float>& gemm_level<float>() {
#if defined(__x86_64__)
  if (cpu_level() == Level::Avx512) return level2::gemm_f32;
  if (cpu_level() == Level::Avx2) return level1::gemm_f32;
#endif
  return level0::gemm_f32;
}
template <> inline const GemmLevel<double>& gemm_level<double>() {
#if defined(__x86_64__)
  if (cpu_level() == Level::Avx512) return level2::gemm_f64;
  if (cpu_level() == Level::Avx2) return level1::gemm_f64;
#endif
  return level0::gemm_f64;
}

}  // namespace rl::kernels
