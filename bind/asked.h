// __torch_function__ of what is not an op: properties, slots and methods of the tensor type.
#pragma once
#include "bind/tensor.h"

namespace rl::bind {

// Whether o's class, or a mode, is to be asked before something is done with o.
bool overridden(PyObject* o);
// Asks for Tensor.NAME.__get__ (__set__, __delete__), or for the slot's method Tensor.NAME. True:
// `result` is the answer, or null with an exception set. False: nobody answered.
bool asked_property(PyObject* o, const char* name, PyObject* value, bool set, PyObject*& result);
bool asked_slot(const char* name, PyObject* const* args, Py_ssize_t count, PyObject*& result);

// A method written in Python that asks first, without a frame of its own.
PyObject* asked_method(PyObject*, PyObject* function);
// Puts a class in the place of `type`'s methods that asks first.
int ask_for_methods(PyTypeObject* type, const PyMethodDef* methods);

}  // namespace rl::bind
