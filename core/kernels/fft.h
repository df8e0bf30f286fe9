// Fast Fourier transforms of rows and columns of dense memory, in float and double.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Rows of n numbers (of the longer side: the real one where there is one); pitches are in complex
// numbers, or in real ones on a real side.
struct FftRows {
  int64_t n = 1, count = 1;
  int64_t in_pitch = 1, out_pitch = 1;
  bool forward = true;     // exp(-2 pi i j k / n)
  double scale = 1;        // of the results
};

// `real` is Float or Double. Rows may be transformed in place where the pitches agree.
void fft_rows(DType real, const FftRows& rows, const void* in, void* out);
// Real to complex, forward: n / 2 + 1 results, or with `twosided` all n.
void fft_rows_of_real(DType real, const FftRows& rows, bool twosided, const void* in, void* out);
// Complex to real, backward: from n / 2 + 1 numbers; the first one's imaginary part, and for an
// even n the last one's, count for nothing.
void fft_rows_to_real(DType real, const FftRows& rows, const void* in, void* out);
// In place, along the middle dimension of (outer, n, inner) complex numbers.
void fft_columns(DType real, int64_t outer, int64_t n, int64_t inner, bool forward, double scale,
                 void* data);

}  // namespace rl::kernels
