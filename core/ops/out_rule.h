// What out= and in-place forms share: which memory may meet, and what is said of a wrong dtype.
#pragma once
#include "ops/record.h"

namespace rl {

// The text of a rule with its %W, %G, %w, %g and %I filled in.
std::string rule_text(const char* text, DType wanted, DType given, DType input);
DType first_dtype(const Record& r, const Arg* args);
// Refuses memory shared in part; where `same`, also an input that is the target.
void refuse_shared(const Tensor& out, const Tensor& in, bool same);
void refuse_shared(const Record& r, const Arg* args, const Tensor& out, bool same);

}  // namespace rl
