// Batching rules: how an op with a mapped dimension in front of its tensors is one op below.
#pragma once
#include "ops/transform.h"

namespace rl {

// Fills results of the level below, the mapped dimension in front; false: it does not serve these
// arguments, and the call is made sample by sample.
using BatchingRule = bool (*)(const LevelCall& c, Value* results);

// The rule of one op, under its record's name; kind says of what sort it is.
void add_batching_rule(const char* record, BatchingRule rule, const char* kind = "own");

namespace batching {

// The tensor below with the mapped dimension in front and ones after it up to `rank` dimensions.
Tensor aligned(const LevelCall& c, const Tensor& t, int64_t rank);
// The highest number of dimensions of the tensors among the arguments, as the function sees them.
int64_t highest_rank(const LevelCall& c);
Dims with_size(const LevelCall& c, Ints sizes);       // the mapped dimension's size, then these
Dims shifted(Ints dims, int64_t rank);                // wrapped by rank, past the mapped one
// Of each sample all elements in a row (-1 would not do where there is no sample).
Tensor flattened(const LevelCall& c, const Tensor& t);
Dims all_dims(int64_t rank);                          // 1 to rank
bool aligned_rule(const LevelCall& c, Value* results);
bool dims_rule(const LevelCall& c, Value* results);
// Mapped and sample dimensions as one; the last `trailing` ones are a sample's own.
bool folded(const LevelCall& c, int64_t trailing, Value* results);
void wrap_results(const LevelCall& c, Value* results, bool batched);
// Calls the record sample by sample.
void loop(const LevelCall& c, Value* results);

}  // namespace batching
}  // namespace rl
