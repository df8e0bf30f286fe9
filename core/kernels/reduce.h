// Reductions: many numbers folded into few, over rows (one result a row) or down columns.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// What is folded. SumExp adds exp(x - p), SquaredDeviation (x - p)^2, SumPowers |x|^p. Max and Min
// let NaN win. Complex numbers know Sum, Prod and CountNonzero only.
enum class Fold : uint8_t {
  Sum, SumSquares, SumAbs, Prod, Max, Min, MaxAbs, MinAbs, SumExp, SquaredDeviation, SumPowers,
  CountNonzero
};

// What a fold of `t` is accumulated in: int64 for integers, bool and counts, float for halves.
constexpr DType accumulator_of(Fold fold, DType t) {
  return fold == Fold::CountNonzero || is_integral(t) || is_bool(t) ? DType::Int64 : compute_of(t);
}

// Sets n accumulators to the value that folding begins with.
void fold_begin(Fold fold, DType accumulator, char* out, int64_t n);

// out[i] is folded with in[i][0..n) for i < rows. Strides in bytes; `out` is dense, of the
// accumulator's dtype, and was begun. Float sums are pairwise: their error grows as log n.
void fold_rows(Fold fold, DType t, char* out, const char* in, int64_t rows, int64_t row_stride,
               int64_t n, int64_t stride, double p = 0);

// out[j] is folded with in[0..rows)[j] for j < columns: for kept dimensions that are dense.
void fold_columns(Fold fold, DType t, char* out, const char* in, int64_t rows, int64_t row_stride,
                  int64_t columns, int64_t stride, double p = 0);

// out[i] is folded with another accumulator of the same elements: parts done by other threads.
void fold_merge(Fold fold, DType accumulator, char* out, const char* other, int64_t n);

// The first largest (or smallest) of n > 0 elements, the first NaN before any: its index.
int64_t arg_extreme(DType t, bool largest, const char* in, int64_t n, int64_t stride);

// The same down columns; indices[j] < rows. rows > 0.
void arg_extreme_columns(DType t, bool largest, int64_t* indices, const char* in, int64_t rows,
                         int64_t row_stride, int64_t columns, int64_t stride);

// Mean, and sum of squared deviations from it, of each row (in two passes) or column. Floating t.
void row_moments(DType t, double* mean, double* deviation, const char* in, int64_t rows,
                 int64_t row_stride, int64_t n, int64_t stride);
void column_moments(DType t, double* mean, double* deviation, const char* in, int64_t rows,
                    int64_t row_stride, int64_t columns, int64_t stride);

}  // namespace rl::kernels
