// What the ops that scatter along one dimension share: checks of the index and the places it names.
#pragma once
#include "ops/places.h"
#include "ops/record.h"

namespace rl::ops {

// Elements of `data` whose coordinate along `dim` is read from `index`, of the same rank.
Places per_element(const Tensor& data, int64_t dim, const Tensor& index);
// Slices of `data` along `dim`, one for each of a vector of indices.
Places per_slice(const Tensor& data, int64_t dim, const Tensor& index);
// The part of `src` that an index of each element reads.
Tensor part_for(const Tensor& src, const Tensor& index);

Tensor as_int64(const Tensor& index);
void check_bounds(const Tensor& index, const Tensor& self, int64_t dim);
// scatter's checks of metadata, and its result; `src` may be null.
void check_scatter(Infer& r, const Tensor& self, int64_t dim, const Tensor& index,
                   const Tensor* src);
// Those of index_add and index_reduce, whose name begins the messages.
void check_slices(const char* op, const Tensor& self, int64_t dim, const Tensor& index,
                  const Tensor& source);

}  // namespace rl::ops
