// Moves and sums of elements whose places are read from an array of indices.
//
// Strides are in bytes. `places[i]` (places_stride apart, 0: one place for all) counts units of
// `step` bytes from the data pointer. The caller has checked every index.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// The first of n indices outside [low, high), or -1. Indices lie `stride` bytes apart.
int64_t first_outside(const char* index, int64_t stride, int64_t n, int64_t low, int64_t high);

// out[i] = in[i at places[i]]: `in` also moves by in_stride per element.
void gather_items(char* out, int64_t out_stride, const char* in, int64_t in_stride,
                  const char* places, int64_t places_stride, int64_t step, int64_t n,
                  int64_t size);

// out[i] = row[places[i]], all of them dense, in one pass; false where a place was outside the
// row's `length`, which the row's first item stands for then.
bool gather_row(char* out, const char* row, int64_t length, const int64_t* places, int64_t n,
                int64_t size);

// out[i at places[i]] = in[i], in order: of equal places the last one stays.
void scatter_items(char* out, int64_t out_stride, const char* in, int64_t in_stride,
                   const char* places, int64_t places_stride, int64_t step, int64_t n,
                   int64_t size);

// How several values of one place are combined.
enum class Combine : uint8_t { Add, Multiply, Max, Min };  // NaN wins Max and Min

// out[i at places[i]] = combine(out[...], in[i]), in order. All dtypes for Add and Multiply (bool:
// or, and); Max and Min not for complex.
void combine_items(Combine how, DType dtype, char* out, int64_t out_stride, const char* in,
                   int64_t in_stride, const char* places, int64_t places_stride, int64_t step,
                   int64_t n);

// How many of n elements are not zero; the positions, first + i, of `count` of them from the
// first on; and, as those are bools, the items of `in` that lie beside them.
int64_t count_nonzero(DType dtype, const char* in, int64_t stride, int64_t n);
void list_nonzero(DType dtype, const char* in, int64_t stride, int64_t count, int64_t first,
                  int64_t* out);
void select_items(char* out, const char* in, const char* mask, int64_t count, int64_t size);

}  // namespace rl::kernels
