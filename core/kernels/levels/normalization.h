// Loops of the normalisations: moments of a row, normalising it, and the sums of its gradient.
#pragma once
#include <cstdint>

#include "kernels/levels/table.h"

namespace rl::kernels {

// gamma and beta may be null (1 and 0). Outputs that say "or null" may be left out.
template <class T> struct NormalizationLoops {
  // Mean, and the sum of squared deviations from it.
  void (*moments)(const T* x, int64_t n, T* mean, T* squares);
  T (*sum_squares)(const T* x, int64_t n);
  // y = (x - mean) * rstd * gamma + beta, gamma and beta by element.
  void (*normalize)(const T* x, T* y, int64_t n, T mean, T rstd, const T* gamma, const T* beta);
  // y = x * a + b with numbers, and with rows.
  void (*affine)(const T* x, T* y, int64_t n, T a, T b);
  void (*affine_rows)(const T* x, T* y, int64_t n, const T* a, const T* b);
  // dx (or null) of one normalised row; adds to dgamma and dbeta (or null).
  void (*layer_backward)(const T* grad, const T* x, const T* gamma, T mean, T rstd, T* dx,
                         T* dgamma, T* dbeta, int64_t n);
  void (*rms_backward)(const T* grad, const T* x, const T* gamma, T rstd, T* dx, T* dgamma,
                       int64_t n);
  // Sums of grad and of grad * (x - mean) over a row.
  void (*gradient_sums)(const T* grad, const T* x, T mean, int64_t n, T* sum, T* product);
  // dx = grad * a + x * b + c with numbers, and with rows.
  void (*combine)(const T* grad, const T* x, T* dx, int64_t n, T a, T b, T c);
  void (*combine_rows)(const T* grad, const T* x, T* dx, int64_t n, const T* a, const T* b,
                       const T* c);
  // Per element of a row: squares += (x - mean)^2; sum += grad, product += grad (x - mean).
  void (*add_squares)(const T* x, const T* mean, T* squares, int64_t n);
  void (*add_gradient)(const T* grad, const T* x, const T* mean, T* sum, T* product, int64_t n);
};
RL_LEVEL_TABLES(NormalizationLoops, normalization_loops)

}  // namespace rl::kernels
