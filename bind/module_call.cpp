// The call of a Module: straight to forward while nothing is hooked, compiled or observed.
#include <cstddef>
#include <initializer_list>

#include "bind/module_state.h"

namespace rl::bind {

const ModuleObserver* module_observer = nullptr;

namespace nn {
namespace {

// 1 when hooks may have to run, 0 when not, -1 with an exception (a module without its state).
int has_hooks(PyObject* self) {
  PyObject* const own[] = {entry(self, &Entries::backward, kBackwardHooks),
                           entry(self, &Entries::backward_pre, kBackwardPreHooks),
                           entry(self, &Entries::forward_hooks, kForwardHooks),
                           entry(self, &Entries::forward_pre, kForwardPreHooks)};
  if (!own[0] || !own[1] || !own[2] || !own[3]) [[unlikely]] {
    for (Name name : {kBackwardHooks, kBackwardPreHooks, kForwardHooks, kForwardPreHooks}) {
      if (!Owned(PyObject_GetAttr(self, names[name]))) return -1;
    }
    return 1;
  }
  return filled(own[0]) || filled(own[1]) || filled(own[2]) || filled(own[3]) ||
         (globals.space && (filled(globals.backward_pre) || filled(globals.backward) ||
                            filled(globals.forward) || filled(globals.forward_pre)));
}

// Does `self.name` read a class's plain function, so that no bound method need be made?
bool plain_lookup(PyTypeObject* type) {
  return type->tp_getattro == getattro ||
         type_attribute(type, names[kGetattribute]) ==
             type_attribute(module_base, names[kGetattribute]);
}

// function(self, *args): in place where the caller lends the slot before its arguments.
PyObject* call_with_self(PyObject* function, PyObject* self, PyObject* const* args, size_t nargsf,
                         PyObject* kwnames) {
  const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  if (nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET) {
    PyObject** first = const_cast<PyObject**>(args) - 1;
    PyObject* lent = *first;
    *first = self;
    PyObject* result = PyObject_Vectorcall(function, first, size_t(count) + 1, kwnames);
    *first = lent;
    return result;
  }
  constexpr Py_ssize_t kSmall = 8;
  PyObject* small[kSmall];
  const Py_ssize_t total = count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  PyObject** all = small;
  if (total + 1 > kSmall) {
    all = PyMem_New(PyObject*, size_t(total) + 1);
    if (!all) return PyErr_NoMemory();
  }
  all[0] = self;
  for (Py_ssize_t i = 0; i < total; ++i) all[i + 1] = args[i];
  PyObject* result = PyObject_Vectorcall(function, all, size_t(count) + 1, kwnames);
  if (all != small) PyMem_Free(all);
  return result;
}

PyObject* call_forward(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject* found = type_attribute(type, names[kForward]);
  if (found && PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR) &&
      plain_lookup(type) && !entry(self, &Entries::forward, kForward)) {
    Owned held = Owned::share(found);
    return call_with_self(found, self, args, nargsf, kwnames);
  }
  Owned forward(PyObject_GetAttr(self, names[kForward]));
  return forward ? PyObject_Vectorcall(forward.get(), args, nargsf, kwnames) : nullptr;
}

// Runs `body` between the observer's two calls.
template <class Body>
PyObject* observed(PyObject* self, const Body& body) {
  const ModuleObserver* observer = module_observer;
  if (!observer) [[likely]] return body();
  observer->entered(self);
  PyObject* result = body();
  observer->left(self);
  return result;
}

// The compiled call of a module that has one; null without an exception when it has none.
Owned compiled_call(PyObject* self) {
  PyObject* value = nullptr;
  optional_attribute(self, names[kCompiledCall], &value);
  if (value == Py_None) Py_CLEAR(value);
  return Owned(value);
}

PyObject* call_with_tuple(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames,
                          ternaryfunc function) {
  const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  Owned tuple(PyTuple_New(count));
  if (!tuple) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
  Owned kwargs(PyDict_New());
  if (!kwargs) return nullptr;
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) {
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, i), args[count + i]) < 0) {
      return nullptr;
    }
  }
  return function(self, tuple.get(), kwargs.get());
}

}  // namespace

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  // CPython 3.11 leaves this entry in place when a class is given another __call__ later on.
  if (Py_TYPE(self)->tp_call != call) [[unlikely]] {
    return call_with_tuple(self, args, nargsf, kwnames, Py_TYPE(self)->tp_call);
  }
  return observed(self, [&]() -> PyObject* {
    if (any_compiled) [[unlikely]] {
      Owned compiled = compiled_call(self);
      if (compiled) return PyObject_Vectorcall(compiled.get(), args, nargsf, kwnames);
      if (PyErr_Occurred()) return nullptr;
    }
    const int hooked = has_hooks(self);
    if (hooked == 0) [[likely]] return call_forward(self, args, nargsf, kwnames);
    return hooked < 0 ? nullptr : call_with_tuple(self, args, nargsf, kwnames, call_hooked);
  });
}

PyObject* call_impl(PyObject* self, PyObject* args, PyObject* kwargs) {
  const int hooked = has_hooks(self);
  if (hooked < 0) return nullptr;
  if (hooked) {
    Owned own = kwargs ? Owned::share(kwargs) : Owned(PyDict_New());
    return own ? call_hooked(self, args, own.get()) : nullptr;
  }
  Owned forward(PyObject_GetAttr(self, names[kForward]));
  return forward ? PyObject_Call(forward.get(), args, kwargs) : nullptr;
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyTypeObject* type = Py_TYPE(self);
  adopt(type);
  as_module(self)->call = vectorcall;
  return observed(self, [&]() -> PyObject* {
    if (any_compiled) {
      Owned compiled = compiled_call(self);
      if (compiled) return PyObject_Call(compiled.get(), args, kwargs);
      if (PyErr_Occurred()) return nullptr;
    }
    PyObject* name = names[kCallImpl];
    if (type_attribute(type, name) == type_attribute(module_base, name)) {
      return call_impl(self, args, kwargs);
    }
    Owned method(PyObject_GetAttr(self, name));
    return method ? PyObject_Call(method.get(), args, kwargs) : nullptr;
  });
}

}  // namespace nn
}  // namespace rl::bind
