// Tensors out of Python data: numbers, nested sequences, arrays, other tensors.
#pragma once
#include <optional>

#include "bind/types.h"

namespace rl::bind {

// torch.tensor's reading of `data`; the dtype is inferred where none is given.
Tensor tensor_from(PyObject* data, std::optional<DType> dtype);
// Whether the object is an array that shares its memory (numpy's protocol), and as a tensor.
bool is_array(PyObject* o);
int add_construct(PyObject* module);

}  // namespace rl::bind
