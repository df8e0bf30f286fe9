// What the vector levels offer to reductions: dense folds of float and double.
#pragma once
#include "kernels/reduce.h"

namespace rl::kernels {

// Fold is none of SumPowers and CountNonzero. `shifts` are per column, or null for `p`.
struct DenseFolds {
  void (*rows_float)(Fold fold, float* out, const char* in, int64_t rows, int64_t row_stride,
                     int64_t n, float p);
  void (*rows_double)(Fold fold, double* out, const char* in, int64_t rows, int64_t row_stride,
                      int64_t n, double p);
  void (*columns_float)(Fold fold, float* out, const float* in, int64_t rows, int64_t row_stride,
                        int64_t columns, const float* shifts, float p);
  void (*columns_double)(Fold fold, double* out, const double* in, int64_t rows,
                         int64_t row_stride, int64_t columns, const double* shifts, double p);
  int64_t (*find_float)(const float* in, int64_t n, float value);     // first equal, or first NaN
  int64_t (*find_double)(const double* in, int64_t n, double value);  // where value is NaN; or n
};

namespace level0 { extern const DenseFolds dense_folds; }
namespace level1 { extern const DenseFolds dense_folds; }
namespace level2 { extern const DenseFolds dense_folds; }

}  // namespace rl::kernels
