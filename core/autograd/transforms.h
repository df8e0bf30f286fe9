// What functions that are being transformed change for others.
#pragma once
#include "tensor/tensor.h"

namespace rl {

// How many transforms, gradients included, run on this thread and began within inference mode: what
// it made may be saved, it is a constant there.
extern constinit thread_local int transforms_in_inference;

// Whether `t` differs by sample on any active level of vmap: no one value can be read.
bool differs_by_sample(const Tensor& t);

}  // namespace rl
