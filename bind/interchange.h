// Memory shared with others: numpy arrays, objects with the buffer protocol, DLPack capsules.
#pragma once
#include "bind/tensor.h"

namespace rl::bind {

// numpy is never imported here but to make an array for the user: arrays are known by the name of
// their type and read through `__array_struct__`.
bool is_ndarray(PyObject* object);

// A tensor over the array's memory, which it keeps alive. Throws PyTorch's TypeErrors and
// ValueErrors for what a tensor cannot be; warns once about memory that must not be written.
Tensor tensor_over_ndarray(PyObject* array);

// A 1-d tensor over `count` elements (all that follow if negative) of a buffer, from `offset`
// bytes. The buffer stays exported, so that its owner cannot move it, while the tensor lives.
Tensor tensor_over_buffer(PyObject* object, DType dtype, int64_t count, int64_t offset);

// An array over the tensor's memory; `force` detaches and copies where that is needed.
PyObject* ndarray_over(const Tensor& tensor, bool force);

// A capsule is used up by the tensor made from it.
Tensor tensor_over_capsule(PyObject* capsule);
PyObject* capsule_over(const Tensor& tensor, bool versioned);

int add_lent_memory();  // readies the type behind ndarray_over

// Tensor's numpy, __array__, __dlpack__ and __dlpack_device__.
extern PyMethodDef interchange_methods[];

// Adds from_numpy, frombuffer, _to_dlpack, _to_dlpack_versioned and _from_dlpack.
int add_interchange(PyObject* module);

}  // namespace rl::bind
