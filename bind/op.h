// Ops as Python callables: functions, methods, in-place methods, operator slots.
#pragma once
#include "bind/reader.h"
#include "bind/tensor.h"

namespace rl::bind {

// One Python name, with the overloads it chooses from.
struct OpName {
  std::string name;                 // "add", "add_"
  std::vector<const Record*> overloads;
  bool in_place = false, method = false, out = false, factory = false;
  PyObject* function = nullptr;     // what __torch_function__ gets: the public callable
  PyObject* doc = nullptr;
};

struct OpObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  const OpName* op;
  PyObject* dict;
};

// Calls with Python arguments: overrides, overloads, out=, results.
PyObject* call_op(const OpName& op, const Call& call);
PyObject* wrap_results(const Record& r, Value* results);
PyObject* return_type(PyObject*, PyObject* name);  // the named tuple of an op's results

// Puts every record under its names: into the module's `functions` dicts and the Tensor type.
int add_ops(PyObject* module);

// __torch_function__ (overrides.cpp): null and no exception when no argument overrides.
PyObject* call_override(PyObject* function, PyObject* const* args, Py_ssize_t count,
                        PyObject* names);
bool any_override(PyObject* const* args, Py_ssize_t count);
// Of a class, sure to be without one, that arguments nearly always have.
inline bool is_plain(PyObject* o) {
  const PyTypeObject* t = Py_TYPE(o);
  return t == tensor_type || t == &PyLong_Type || t == parameter_type || t == &PyFloat_Type;
}

}  // namespace rl::bind
