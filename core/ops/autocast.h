// Autocast's setting on this thread; the mode itself is the bit kAutocast.
#pragma once
#include "base/dtype.h"

namespace rl {

extern constinit thread_local DType autocast_dtype;

}  // namespace rl
