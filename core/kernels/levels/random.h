// The vector loops of the random fills, by level.
#pragma once
#include <cstdint>

namespace rl::kernels {

struct RandomLoops {
  // out = fma(24 bits of each draw / 2^24, to - from, from); `to` itself becomes `from`.
  void (*uniform)(const uint32_t* bits, float* out, int64_t n, float from, float to);
  // Box-Muller in place on blocks of 16 uniform numbers: radii from the first 8, angles from the
  // last 8.
  void (*normal)(float* data, int64_t blocks, float mean, float std);
};

namespace level0 { extern const RandomLoops random_loops; }
namespace level1 { extern const RandomLoops random_loops; }
namespace level2 { extern const RandomLoops random_loops; }

}  // namespace rl::kernels
