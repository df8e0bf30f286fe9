// Convolutions of whole numbers, which wrap around as sums of their type do.
#pragma once
#include "kernels/convolution.h"

namespace rl::kernels {

// Dense tensors as conv_forward takes them; `bias` may be null.
void conv_forward_integer(DType dtype, const Convolution& c, void* output, const void* input,
                          const void* weight, const void* bias);
// int64 only: what a transposed convolution is.
void conv_backward_input_integer(const Convolution& c, int64_t* grad_input,
                                 const int64_t* grad_output, const int64_t* weight);

}  // namespace rl::kernels
