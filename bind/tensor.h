// Tensors as Python objects: which object stands for which body, and who keeps whom alive.
#pragma once
#include "bind/python.h"
#include "tensor/tensor.h"

namespace rl::bind {

// Note [Objects and bodies]
// While Python holds a tensor, its object owns a reference to the body, and the body points back.
// When Python lets go but the graph or a list in C++ still holds the body, an object that has
// attributes, weak references or a class of its own must come back as the same object: it then
// stays alive and the body owns it (kOwnsObject). A bare object is freed and made anew.
struct TensorObject {
  PyObject_HEAD
  TensorBody* body;
  PyObject* dict;
  PyObject* weakrefs;
};

extern PyTypeObject* tensor_base_type;    // _C.TensorBase
extern PyTypeObject* tensor_type;         // rushlight.Tensor
extern PyTypeObject* parameter_type;      // rushlight.nn.Parameter, once registered

// Override: a tensor class with a __torch_function__ of its own; Foreign: such a class of others.
enum class TensorKind : uint8_t { No, Foreign, Plain, Override };
TensorKind kind_of_type(PyTypeObject* type);
inline TensorKind kind_of(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  return t == tensor_type || t == parameter_type ? TensorKind::Plain : kind_of_type(t);
}
inline bool is_tensor(PyObject* o) { return kind_of(o) >= TensorKind::Plain; }
bool is_parameter(PyObject* o);           // isinstance(o, Parameter)

inline TensorBody* body_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->body; }
inline const Tensor& tensor_of(PyObject* o) {
  return reinterpret_cast<const Tensor&>(reinterpret_cast<TensorObject*>(o)->body);
}
PyObject* wrap(Tensor t);                 // None for an undefined tensor
PyObject* wrap_as(PyTypeObject* type, Tensor t);  // a new object of this class
void track(PyObject* tensor);             // from now on the collector looks at it

int add_tensor_types(PyObject* module);

}  // namespace rl::bind
