// Fourier transforms as other families call them, and what transforms of signals call elsewhere.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

// fft.cpp. How results are divided, with PyTorch's numbers: not, by the root of n, by n.
enum class FftNorm : int64_t { None = 0, ByRootN = 1, ByN = 2 };
extern const Op<Tensor(Tensor, Ints, int64_t, bool)> fft_c2c;     // dim, norm, forward
extern const Op<Tensor(Tensor, Ints, int64_t, bool)> fft_r2c;     // dim, norm, onesided
extern const Op<Tensor(Tensor, Ints, int64_t, int64_t)> fft_c2r;  // dim, norm, last size

// padding.cpp, moves.cpp, complex.cpp
extern const Op<Tensor(Tensor, Ints, Scalar)> constant_pad_nd;
extern const Op<Tensor(Tensor, Ints, Ints)> roll;
extern const Op<Tensor(Tensor)> conj_physical;

}  // namespace rl::ops
