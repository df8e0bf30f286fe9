// Sliding blocks of images as columns, and columns summed back into images.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

struct SlidingBlocks {
  int64_t planes = 1;                   // batch x channels
  int64_t in[2], out[2];                // the image; how many blocks fit
  int64_t kernel[2], stride[2], padding[2], dilation[2];

  int64_t block() const { return kernel[0] * kernel[1]; }
  int64_t blocks() const { return out[0] * out[1]; }
};

// columns (planes, kernel, out) from images (planes, in), any element of `item` bytes.
void image_to_columns(const SlidingBlocks& s, int64_t item, void* columns, const void* images);
// images (planes, in) from columns: what overlaps is added up.
void columns_to_image(const SlidingBlocks& s, DType dtype, void* images, const void* columns);

// Windows along a row of `length` numbers, one every `step`: steps of `in` in numbers.
struct Windows {
  int64_t rows = 1, length, count, size, step;
  int64_t in_row, in_window;
};
// Rows that are the sums of their windows; `dtype` is Float or Double.
void add_windows(const Windows& w, DType dtype, void* out, const void* in);

}  // namespace rl::kernels
