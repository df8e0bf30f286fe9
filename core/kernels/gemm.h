// Matrix products over strided operands, batched, with a fused bias and activation.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "base/scalar.h"

namespace rl::kernels {

// C = relu(alpha * A @ B + beta * C + bias). Strides are in elements and may be anything,
// 0 and negative included, for A and B; C must not overlap itself, A or B. A (m x k) and B (k x n)
// are never copied to be transposed. With beta 0, C is not read. Both batch dimensions may have
// stride 0 (broadcast) for A and B.
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  int64_t a_row = 0, a_col = 1;
  int64_t b_row = 0, b_col = 1;
  int64_t c_row = 0, c_col = 1;
  Scalar alpha = 1, beta = 0;
  int64_t batch[2] = {1, 1};
  int64_t a_batch[2] = {0, 0}, b_batch[2] = {0, 0}, c_batch[2] = {0, 0};
  const void* bias = nullptr;  // dense, n values, or m values if bias_per_row
  bool bias_per_row = false;
  bool relu = false;
};

// All dtypes; bool is an OR of ANDs. Halves accumulate in float, integers wrap around.
void gemm(DType dtype, const MatrixProduct& product);

}  // namespace rl::kernels
