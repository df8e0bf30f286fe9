// What the binding asks of function transforms.
#pragma once
#include "bind/tensor.h"

namespace rl::bind {

// A tensor that vmap maps, or did, has no memory of its own to be looked at.
bool is_mapped(const Tensor& t);
void refuse_mapped(const Tensor& t);
// Nor a truth.
void refuse_choice(const Tensor& t);
// Whether a function is being transformed on this thread (forward_ad does not count).
bool transforms_running();
// Changes of requires_grad inside of a function that is being transformed; `also`: what else the
// caller may have called.
void refuse_in_transform(const char* method, const char* also = "");

int add_transform(PyObject* module);

}  // namespace rl::bind
