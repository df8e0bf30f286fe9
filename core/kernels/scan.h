// Running sums, products, extremes and log-sums along one dimension.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// A contiguous tensor seen as outer x size x inner; the scan runs along `size`.
struct Scan {
  DType dtype;
  int64_t outer, size, inner;
};

// Element after element, accumulated as PyTorch does: float in double, halves in float, integers
// modulo their width. All dtypes (of bool: or, and). y may be x.
void cumsum(const Scan& s, const void* x, void* y);
void cumprod(const Scan& s, const void* x, void* y);
// log(sum of exp), from the largest of two on. Floating and complex dtypes.
void logcumsumexp(const Scan& s, const void* x, void* y);
// Equal values move the index on; so does each NaN, and NaN stays. All dtypes but complex.
void cummax(const Scan& s, const void* x, void* y, int64_t* indices);
void cummin(const Scan& s, const void* x, void* y, int64_t* indices);

}  // namespace rl::kernels
