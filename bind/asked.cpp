// __torch_function__ of what is not an op: properties, slots and methods of the tensor type.
#include "bind/asked.h"

#include <structmember.h>

#include <string_view>

#include "bind/op.h"
#include "bind/tensor.h"
#include "observe/events.h"

namespace rl::bind {

bool overridden(PyObject* o) {
  return any_override(&o, 1) || __builtin_expect(modes() & kFunctionMode, 0);
}

bool asked_property(PyObject* o, const char* name, PyObject* value, bool set, PyObject*& result) {
  Owned property(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
  Owned function(property ? PyObject_GetAttrString(property.get(), !set    ? "__get__"
                                                                   : value ? "__set__"
                                                                           : "__delete__")
                          : nullptr);
  result = nullptr;
  if (!function) return true;
  PyObject* args[] = {o, value};
  result = call_override(function.get(), args, value ? 2 : 1, nullptr);
  return result || PyErr_Occurred();
}

bool asked_slot(const char* name, PyObject* const* args, Py_ssize_t count, PyObject*& result) {
  Owned function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
  result = nullptr;
  if (!function) return true;
  result = call_override(function.get(), args, count, nullptr);
  return result || PyErr_Occurred();
}

namespace {

// Stands before a method descriptor of C, or a function in Python.
struct AskedMethod {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* inner;
};

PyObject* call_asked(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  const auto* method = reinterpret_cast<AskedMethod*>(self);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (count && overridden(args[0])) {
    PyObject* r = call_override(self, args, count, names);
    if (r || PyErr_Occurred()) return r;
  }
  return PyObject_Vectorcall(method->inner, args, flags, names);
}

PyObject* bind_asked(PyObject* self, PyObject* object, PyObject*) {
  if (!object || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, object);
}

// What it does not have itself: __wrapped__, __code__ and the like of a function.
PyObject* any_attribute(PyObject* self, PyObject* name) {
  PyObject* inner = reinterpret_cast<AskedMethod*>(self)->inner;
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyFunction_Check(inner)) return found;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  PyErr_Clear();
  if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) return Py_NewRef(inner);
  return PyObject_GetAttr(inner, name);
}
PyObject* inner_attribute(PyObject* self, void* name) {
  return PyObject_GetAttrString(reinterpret_cast<AskedMethod*>(self)->inner,
                                static_cast<const char*>(name));
}
PyObject* repr_asked(PyObject* self) {
  return PyObject_Repr(reinterpret_cast<AskedMethod*>(self)->inner);
}
PyObject* reduce_asked(PyObject* self, PyObject*) {
  if (PyFunction_Check(reinterpret_cast<AskedMethod*>(self)->inner))
    return PyUnicode_FromFormat(
        "Tensor.%U", reinterpret_cast<PyFunctionObject*>(
                         reinterpret_cast<AskedMethod*>(self)->inner)->func_name);
  return PyObject_CallMethod(reinterpret_cast<AskedMethod*>(self)->inner, "__reduce__", nullptr);
}

char kName[] = "__name__", kQualname[] = "__qualname__", kDoc[] = "__doc__",
     kText[] = "__text_signature__", kOf[] = "__objclass__";
PyGetSetDef asked_properties[] = {{kName, inner_attribute, nullptr, nullptr, kName},
                                  {kQualname, inner_attribute, nullptr, nullptr, kQualname},
                                  {kDoc, inner_attribute, nullptr, nullptr, kDoc},
                                  {kText, inner_attribute, nullptr, nullptr, kText},
                                  {kOf, inner_attribute, nullptr, nullptr, kOf},
                                  {}};
PyMethodDef asked_methods[] = {{"__reduce__", reduce_asked, METH_NOARGS, nullptr}, {}};
PyMemberDef asked_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(AskedMethod, vectorcall), READONLY, nullptr}, {}};

PyTypeObject* asked_type() {
  static PyTypeObject* type = nullptr;
  if (type) return type;
  PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_repr, reinterpret_cast<void*>(repr_asked)},
                         {Py_tp_getattro, reinterpret_cast<void*>(any_attribute)},
                         {Py_tp_getset, asked_properties},
                         {Py_tp_methods, asked_methods},
                         {Py_tp_members, asked_members},
                         {Py_tp_descr_get, reinterpret_cast<void*>(bind_asked)},
                         {0, nullptr}};
  PyType_Spec spec = {"rushlight._C.TensorMethod", sizeof(AskedMethod), 0,
                      unsigned(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | kMethodFlags),
                      slots};
  return type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

// What PyTorch does without asking.
bool never_asked(const PyMethodDef& m) {
  if (m.ml_flags & METH_STATIC) return true;
  const std::string_view name = m.ml_name;
  const bool own = name[0] == '_' && name[1] != '_' && name != "_is_view";
  return own || name == "as_subclass";
}

AskedMethod* asked_for(PyObject* inner) {
  PyTypeObject* type = asked_type();
  auto* asked = type ? PyObject_New(AskedMethod, type) : nullptr;
  if (!asked) return nullptr;
  Py_INCREF(inner);
  asked->vectorcall = call_asked;
  asked->inner = inner;
  return asked;
}

}  // namespace

PyObject* asked_method(PyObject*, PyObject* function) {
  return reinterpret_cast<PyObject*>(asked_for(function));
}

int ask_for_methods(PyTypeObject* type, const PyMethodDef* methods) {
  for (const PyMethodDef* m = methods; m->ml_name; ++m) {
    if (never_asked(*m)) continue;
    PyObject* inner = PyDict_GetItemString(type->tp_dict, m->ml_name);
    if (!inner) continue;
    Owned object(reinterpret_cast<PyObject*>(asked_for(inner)));
    if (!object) return -1;
    if (PyDict_SetItemString(type->tp_dict, m->ml_name, object.get()) < 0) return -1;
  }
  PyType_Modified(type);
  return 0;
}

}  // namespace rl::bind
