// Resampling of bytes in fixed point.
#pragma once
#include "kernels/resample.h"

namespace rl::kernels {

// Two dimensions, any mode but the nearest ones; dense planes as Resampling says.
void resample_fixed(const Resampling& r, uint8_t* output, const uint8_t* input);

}  // namespace rl::kernels
