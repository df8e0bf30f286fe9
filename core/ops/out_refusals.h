// What ops say, each in its own words, to an out= tensor of another dtype.
#pragma once
#include "ops/record.h"

namespace rl {

// The message for a result of dtype `made` that shall go into `given`; empty: nothing of its own.
std::string out_refusal(const Record& r, DType made, DType given);
// Whether out=, resized or empty before, takes the column-major layout of a result.
bool takes_columns(const Record& r, int place, const Tensor& out, const Tensor& made);

}  // namespace rl
