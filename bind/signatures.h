// What a Python name takes beside its records' signatures; what is said of a call that fits none.
#pragma once
#include "bind/op.h"

namespace rl::bind {

// Reads a call by a signature that PyTorch deprecates, `x.add_(2, y)`: the record that it is for,
// with its arguments in order, or null.
const Record* read_deprecated(const OpName& op, const Call& call, Arg* args, LazyRoom& room);

// Raises the TypeError of a call that no overload takes.
[[noreturn]] void refuse_call(const OpName& op, const Call& call);

}  // namespace rl::bind
