// Sorting rows.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Sorts each of `rows` contiguous rows of `size` elements: values (may be null) and indices get
// the same shape. NaN counts as largest. All dtypes but complex.
// A stable sort keeps equal values in order. An unstable one of fewer than 32,768 elements leaves
// them where PyTorch does, which runs the C++ library's sort on (value, index) pairs: the steps of
// GNU's are followed; longer rows are sorted stably. (A row of stride 0 PyTorch leaves as it is:
// ask for a stable sort.)
void sort(const void* input, DType dtype, int64_t rows, int64_t size, bool descending, bool stable,
          void* values, int64_t* indices);

}  // namespace rl::kernels
