// Sampling of images and volumes at positions given by a grid, with first and second gradients.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

struct GridSample {
  enum Mode : int8_t { Linear, Nearest, Cubic };
  enum Padding : int8_t { Zeros, Border, Reflection };
  int spatial = 2;              // 2 or 3
  Mode mode = Linear;
  Padding padding = Zeros;
  bool align_corners = false;
  int64_t batch = 1, channels = 1;
  int64_t in[3] = {1, 1, 1};    // depth, height, width; depth 1 for images
  int64_t samples = 1;          // per batch entry

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
};

// Dense: input (batch, channels, in), grid (batch, samples, spatial) with x first, output (batch,
// channels, samples). Floating dtypes, halves in float. Null results are not wanted.
void grid_sample(DType dtype, const GridSample& s, void* output, const void* input,
                 const void* grid);
void grid_sample_backward(DType dtype, const GridSample& s, void* grad_input, void* grad_grid,
                          const void* grad_output, const void* input, const void* grid);
// The gradients of those: of gg_input and gg_grid (either may be null) with respect to the
// gradient of the output, the input and the grid.
struct GridSecond {
  void *grad_output, *input, *grid;           // results
  const void *gg_input, *gg_grid;
};
void grid_sample_second(DType dtype, const GridSample& s, const GridSecond& second,
                        const void* grad_output, const void* input, const void* grid);

}  // namespace rl::kernels
