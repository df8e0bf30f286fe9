// Softmax and log-softmax over the middle of a dense [outer, n, inner] array, and their gradients.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Floating dtypes; halves are computed in float. y may be x, and dx may be grad.
void softmax(DType t, const void* x, void* y, int64_t outer, int64_t n, int64_t inner);
void log_softmax(DType t, const void* x, void* y, int64_t outer, int64_t n, int64_t inner);

// y is the forward result.
void softmax_backward(DType t, const void* grad, const void* y, void* dx, int64_t outer, int64_t n,
                      int64_t inner);
void log_softmax_backward(DType t, const void* grad, const void* y, void* dx, int64_t outer,
                          int64_t n, int64_t inner);

}  // namespace rl::kernels
