// Conversion between element types.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Converts n elements; strides in bytes, 0 allowed for the input. out may be in where the two
// strides and item sizes are equal.
using Cast = void (*)(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t n);

// The conversion of PyTorch's copy_: as C++'s static_cast, halves by way of float, complex to real
// by the real part, to bool by comparison with zero, floating to unsigned by way of int64.
// Null where there is none: of pairs in a byte.
Cast cast(DType from, DType to);

}  // namespace rl::kernels
