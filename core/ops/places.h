// Loops over elements that lie at places read from index tensors.
#pragma once
#include <optional>

#include "kernels/indexing.h"
#include "tensor/iterator.h"

namespace rl::ops {

// Elements of `data` that move with a shape's coordinates by `strides` (0 along indexed
// dimensions) and by `step` bytes for each unit of `places`, an int64 tensor of that shape.
struct Places {
  Dims shape;
  Tensor data;
  Dims strides;      // in elements
  Tensor places;     // broadcast to the shape
  int64_t step = 1;
};

// result[...] = data[... at places]; the result has the shape.
void read_places(const Tensor& result, const Places& p);
// The same, with each place checked on the way: the value of the first outside [low, high).
MaybeInt read_checked(const Tensor& result, const Places& p, int64_t low,
                                    int64_t high);
// data[... at places] = values[...], in row order where places repeat.
void write_places(const Places& p, const Tensor& values);
void combine_places(const Places& p, const Tensor& values, kernels::Combine how);

// The elements of dense memory that are not zero, counted in chunks that threads share out.
struct Nonzero {
  static constexpr int64_t kChunk = 65536;
  std::vector<int64_t> starts;  // how many there are before each chunk, and in all
  int64_t total() const { return starts.back(); }
  int64_t count(int64_t chunk) const { return starts[size_t(chunk) + 1] - starts[size_t(chunk)]; }
};
Nonzero find_nonzero(const Tensor& dense);
Tensor positions_of(const Tensor& dense, const Nonzero& found);

// The value of the first index outside [low, high), if there is one.
MaybeInt outside(const Tensor& index, int64_t low, int64_t high);
// Indices with negatives counted from the end of `size`; the same tensor where there are none.
Tensor without_negatives(const Tensor& index, int64_t size);

}  // namespace rl::ops
