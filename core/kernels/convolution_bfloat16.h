// Convolutions of bfloat16 on CPUs with AVX-512 BF16.
#pragma once
#include "base/dtype.h"
#include "kernels/convolution.h"

namespace rl::kernels {

// As conv_forward, for what is not depthwise; usable if cpu_has_bf16(). Sums are float32.
void conv_forward_bfloat16(const Convolution& conv, BFloat16* output, const BFloat16* input,
                           const BFloat16* weight, const BFloat16* bias, bool relu);

}  // namespace rl::kernels
