// Dtypes that are stored and converted, but in which few kernels compute: which ops take them.
#pragma once
#include "ops/call.h"

namespace rl {

// Called where an argument has such a dtype, before anything else. True: the call is done, by way
// of a dtype that kernels compute in. False: the op takes the arguments as they are. Raises what
// PyTorch does for an op that takes none of them.
bool call_stored(const Record& r, const Arg* args, Value* results);
// The same for a factory whose result has such a dtype: true when the result is filled.
bool fill_stored(const Record& r, const Arg* args, const Tensor& result);
// Raises for an op that does not take its arguments as they are.
void refuse_stored(const Record& r, const Arg* args);

}  // namespace rl
