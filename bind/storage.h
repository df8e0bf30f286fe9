// UntypedStorage: a storage as a Python object.
#pragma once
#include "bind/python.h"
#include "tensor/storage.h"

namespace rl::bind {

PyObject* wrap_storage(Ref<Storage> storage);
bool is_storage(PyObject* o);
Ref<Storage> storage_of(PyObject* o);   // throws TypeError for other objects, .untyped() is tried
int add_storage(PyObject* module);

}  // namespace rl::bind
