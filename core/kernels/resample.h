// Resampling of images, lines and volumes to other sizes, and its gradient.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// What a result's element is made of: the nearest element, two or four neighbours, or (Smooth)
// all elements under a filter that widens as the result shrinks.
enum class Resample : uint8_t {
  Nearest, NearestExact, Linear, Cubic, SmoothLinear, SmoothCubic, SmoothLanczos
};

// Dense planes of in[0] x in[1] x in[2] (missing dimensions first, 1 long) cells of `inner`
// elements: 1, or the channels of a channels-last tensor.
struct Resampling {
  Resample how = Resample::Nearest;
  bool align_corners = false, backward = false, channels_last = false;
  int spatial = 2;
  int64_t planes = 1, inner = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  double scale[3] = {0, 0, 0};  // how much larger the result is; 0: by the sizes
};

// Floating dtypes (halves in float), and uint8 forward: nearest, or two dimensions in fixed point.
void resample(DType dtype, const Resampling& r, void* output, const void* input);
void resample_backward(DType dtype, const Resampling& r, void* grad_input,
                       const void* grad_output);

}  // namespace rl::kernels
