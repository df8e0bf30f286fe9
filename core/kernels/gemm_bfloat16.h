// Products of bfloat16 matrices on CPUs with AVX-512 BF16.
#pragma once
#include "kernels/gemm.h"

namespace rl::kernels {

// One batch entry. Sums are float32 and rounded once; usable if cpu_has_bf16().
void gemm_bfloat16(const MatrixProduct& product);

}  // namespace rl::kernels
