// Convolutions over 1 to 3 spatial dimensions and their gradients.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Sizes of one convolution. Tensors are dense: input (batch, in_channels, in...), weight
// (out_channels, in_channels / groups, kernel...), output (batch, out_channels, out...). With
// fewer than 3 spatial dimensions the first ones are 1 (kernel 1, stride 1, padding 0).
struct Convolution {
  int64_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t group_in() const { return in_channels / groups; }
  int64_t group_out() const { return out_channels / groups; }
};

// Floating dtypes; halves are computed in float. `bias` may be null. A transposed convolution is
// conv_backward_input, its gradients conv_forward and conv_backward_weight.
void conv_forward(DType dtype, const Convolution& conv, void* output, const void* input,
                  const void* weight, const void* bias, bool relu = false);
void conv_backward_input(DType dtype, const Convolution& conv, void* grad_input,
                         const void* grad_output, const void* weight);
void conv_backward_weight(DType dtype, const Convolution& conv, void* grad_weight,
                          const void* grad_output, const void* input);
void conv_backward_bias(DType dtype, const Convolution& conv, void* grad_bias,
                        const void* grad_output);

}  // namespace rl::kernels
