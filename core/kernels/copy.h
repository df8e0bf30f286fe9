// Moves of elements that do not look at them: fill, strided copy, transpose.
#pragma once
#include <cstdint>

namespace rl::kernels {

// Strides in bytes; `size`, the item size, is 1, 2, 4, 8 or 16.
void fill_items(char* out, int64_t stride, int64_t n, const char* value, int64_t size);

// In order from the first element; the two may overlap only where they are the same.
void copy_items(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t n,
                int64_t size);

// Rows of so many bytes, which lie so many bytes apart; in_stride may be 0, rows do not overlap.
void copy_rows(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows,
               int64_t bytes);

// Rows of n items: `step` from item to item, `row` from row to row, in bytes.
struct Grid { char* data; int64_t step, row; };
void copy_grid(Grid out, Grid in, int64_t rows, int64_t n, int64_t size);

// out[i][j] = in[j][i] for i < rows, j < columns; the rows of out and of in are dense and
// out_stride and in_stride bytes apart.
void transpose_items(char* out, int64_t out_stride, const char* in, int64_t in_stride,
                     int64_t rows, int64_t columns, int64_t size);

}  // namespace rl::kernels
