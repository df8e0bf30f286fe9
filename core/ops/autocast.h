// Autocast's settings on this thread; the mode itself is the bit kAutocast.
#pragma once
#include "base/dtype.h"

namespace rl {

extern constinit thread_local DType autocast_dtype;
extern constinit thread_local bool autocast_cache_enabled;
extern constinit thread_local int autocast_nesting;   // blocks that are open

// Forgets the casts of parameters that the open blocks made.
void clear_autocast_cache();

}  // namespace rl
