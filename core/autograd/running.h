// Questions about the backward that runs on this thread.
#pragma once
#include "autograd/node.h"

namespace rl {

bool will_run(Node* node);         // whether this backward runs the node, or gives it a gradient

// Whether the backward that runs on this thread accumulates into every leaf it reaches.
bool run_is_whole();

}  // namespace rl
