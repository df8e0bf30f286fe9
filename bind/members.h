// What the Tensor type is made of: properties, methods and slots, each in the file of its kind.
#pragma once
#include "bind/tensor.h"

namespace rl::bind {

extern PyGetSetDef tensor_properties[];       // properties.cpp
void name_tensor_properties();                // before the type is made of them
extern PyMethodDef tensor_methods[];          // methods.cpp

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);  // construct.cpp
int tensor_bool(PyObject* self);              // methods.cpp
PyObject* tensor_int(PyObject* self);
PyObject* tensor_float(PyObject* self);
PyObject* tensor_index(PyObject* self);
Py_ssize_t tensor_length(PyObject* self);
Py_hash_t tensor_hash(PyObject* self);
PyObject* tensor_get_item(PyObject* self, PyObject* key);                    // indexing.cpp
int tensor_set_item(PyObject* self, PyObject* key, PyObject* value);

}  // namespace rl::bind
