// Signature texts, read into the parts of a record that they give.
#pragma once
#include "ops/record.h"

namespace rl {

// Fills names, parameters and returns; faults() hears of what cannot be read.
void read_signature(Record& r, std::string_view signature);

}  // namespace rl
