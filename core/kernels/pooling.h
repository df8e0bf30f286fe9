// Max and average pooling over 1 to 3 spatial dimensions, sliding and adaptive, with gradients.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Dense planes of in[0] x in[1] x in[2]; with fewer spatial dimensions the first are 1 (kernel 1,
// stride 1, padding 0). For adaptive pooling only planes, in and out count.
struct Pooling {
  int64_t planes = 1;  // batch x channels
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  bool count_include_pad = true;  // average: padding counts, but not what ceil_mode adds beyond it
  int64_t divisor = 0;            // average: instead of the window's size, unless 0

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
};

// Floating dtypes (halves in float) and int64. Indices count within an input plane; the first of
// equal values wins, the last NaN beats all. `indices` may be null.
void max_pool(DType dtype, const Pooling& pool, void* output, int64_t* indices,
              const void* input);
void adaptive_max_pool(DType dtype, const Pooling& pool, void* output, int64_t* indices,
                       const void* input);
// Of both: adds each gradient to the place it came from.
void max_pool_backward(DType dtype, const Pooling& pool, void* grad_input,
                       const void* grad_output, const int64_t* indices);

// Floating dtypes and int64 (which divides with truncation).
void avg_pool(DType dtype, const Pooling& pool, void* output, const void* input);
void avg_pool_backward(DType dtype, const Pooling& pool, void* grad_input,
                       const void* grad_output);
void adaptive_avg_pool(DType dtype, const Pooling& pool, void* output, const void* input);
void adaptive_avg_pool_backward(DType dtype, const Pooling& pool, void* grad_input,
                                const void* grad_output);

}  // namespace rl::kernels
