// The randomised leaky ReLU: a slope drawn for each element that is not positive.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "base/generator.h"

namespace rl::kernels {

// Dense arrays of Float or Double, n each; out may be in. Where in > 0 the noise is 1 and nothing is
// drawn. out = in * noise.
void rrelu(Generator& g, DType t, const void* in, void* noise, void* out, int64_t n, double lower,
           double upper);

}  // namespace rl::kernels
