// Python callables as graph hooks, and what the collector may see through a tensor.
#pragma once
#include "autograd/meta.h"
#include "bind/python.h"

namespace rl::bind {

int traverse_autograd(const Autograd& a, visitproc visit, void* arg);
void clear_autograd(Autograd& a);
// Whether a tensor class has a __torch_function__ other than the disabled one.
bool has_override(PyTypeObject* type);

}  // namespace rl::bind
