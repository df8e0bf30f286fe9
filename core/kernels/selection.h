// The k largest or smallest, the k-th, the median and the most frequent value of a row.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Rows are contiguous, `size` elements each, one after another; so are results. NaN counts as
// largest. Equal values come in PyTorch's order: where it leaves that to the C++ library's
// partial_sort, nth_element or sort, the steps of GNU's are followed.

// values, indices: rows x k. Not for complex; for bool as PyTorch only where the caller allows it.
void topk(const void* input, DType dtype, int64_t rows, int64_t size, int64_t k, bool largest,
          bool sorted, void* values, int64_t* indices);

// The k-th smallest (k >= 1) of each row.
void kthvalue(const void* input, DType dtype, int64_t rows, int64_t size, int64_t k, void* values,
              int64_t* indices);

// The lower median and the first index among its equals. A NaN wins (the row's first) unless
// ignore_nan, which then looks at the rest only.
void median(const void* input, DType dtype, int64_t rows, int64_t size, bool ignore_nan,
            void* values, int64_t* indices);

// The most frequent value, the smallest of several.
void mode(const void* input, DType dtype, int64_t rows, int64_t size, void* values,
          int64_t* indices);

}  // namespace rl::kernels
