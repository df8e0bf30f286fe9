// __torch_function__: which arguments override, and asking them in turn.
#include "bind/heard.h"
#include "bind/hooks.h"
#include "bind/op.h"

namespace rl::bind {
namespace {

PyObject* torch_function_name() {
  static PyObject* s = PyUnicode_InternFromString("__torch_function__");
  return s;
}

constinit thread_local bool subclasses_off __attribute__((tls_model("initial-exec"))) = false;

struct Overloaded {
  std::vector<PyObject*> objects;
  void add(PyObject* o) {
    const TensorKind k = kind_of(o);
    if (k != TensorKind::Override && k != TensorKind::Foreign) return;
    for (PyObject* seen : objects)
      if (Py_TYPE(seen) == Py_TYPE(o)) return;
    // A subclass speaks before its parents.
    size_t at = objects.size();
    for (size_t i = 0; i < objects.size(); ++i)
      if (PyType_IsSubtype(Py_TYPE(o), Py_TYPE(objects[i]))) {
        at = i;
        break;
      }
    objects.insert(objects.begin() + long(at), o);
  }
};

void gather(Overloaded& found, PyObject* o) {
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      found.add(PySequence_Fast_ITEMS(o)[i]);
    return;
  }
  found.add(o);
}

// This thread's modes, the innermost last: a list that rushlight.overrides reads and changes, too.
PyObject* modes_of_thread() {
  static PyObject* const key = PyUnicode_InternFromString("rushlight.function_modes");
  PyObject* room = PyThreadState_GetDict();
  PyObject* stack = room ? PyDict_GetItemWithError(room, key) : nullptr;
  if (stack || !room || PyErr_Occurred()) return stack;
  Owned made(PyList_New(0));
  return made && PyDict_SetItem(room, key, made.get()) == 0 ? made.get() : nullptr;
}

void switch_function_mode(bool on) {
  modes_word = on ? modes_word | kFunctionMode : modes_word & ~kFunctionMode;
}

// The innermost mode's answer, while that mode is off; NotImplemented where there is none. A mode
// that only looks on has `_hear(function, args, kwargs, result)`, and no frame while the op runs.
PyObject* ask_mode(PyObject* function, PyObject* types, PyObject* args, PyObject* keywords) {
  static PyObject* const hear_name = PyUnicode_InternFromString("_hear");
  PyObject* stack = modes_of_thread();
  if (!stack) return nullptr;
  const Py_ssize_t outer = PyList_GET_SIZE(stack) - 1;
  if (outer < 0) Py_RETURN_NOTIMPLEMENTED;
  const Owned mode = Owned::share(PyList_GET_ITEM(stack, outer));
  // Without a line of Python: a signal's handler that raises would find the mode half left.
  if (PyList_SetSlice(stack, outer, outer + 1, nullptr) < 0) return nullptr;
  switch_function_mode(outer > 0);
  Owned hear(PyObject_GetAttr(mode.get(), hear_name)), result;
  if (hear && hear.get() != Py_None) {
    result = Owned(PyObject_Call(function, args, keywords));
    Owned given(keywords ? Owned::share(keywords) : Owned(PyDict_New()));
    Owned heard(result && given ? PyObject_CallFunctionObjArgs(hear.get(), function, args, given.get(),
                                                               result.get(), nullptr)
                                : nullptr);
    if (result && !heard && !forgiven()) result = Owned();
  } else if (hear) {
    result = Owned(keywords ? PyObject_CallMethod(mode.get(), "__torch_function__", "OOOO", function,
                                                  types, args, keywords)
                            : PyObject_CallMethod(mode.get(), "__torch_function__", "OOO", function,
                                                  types, args));
  }
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (PyList_Append(stack, mode.get()) < 0) return nullptr;
  switch_function_mode(true);
  PyErr_Restore(type, value, trace);
  return result.leave();
}

}  // namespace

// For rushlight.overrides: asks the innermost mode (function, types, args, kwargs).
PyObject* call_mode(PyObject*, PyObject* args) {
  PyObject *function, *types, *positional, *keywords;
  if (!PyArg_ParseTuple(args, "OOOO", &function, &types, &positional, &keywords)) return nullptr;
  return ask_mode(function, types, positional, keywords);
}

bool has_override(PyTypeObject* type) {
  if (!_PyType_Lookup(type, torch_function_name())) return false;
  if (PyType_IsSubtype(type, tensor_base_type)) {
    if (type == tensor_type || type == tensor_base_type) return false;
    Owned mark(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__torch_function__"));
    if (!mark) {
      PyErr_Clear();
      return false;
    }
    Owned off(PyObject_GetAttrString(mark.get(), "_disabled_torch_function"));
    if (off) return false;
    PyErr_Clear();
    return true;
  }
  return true;
}

bool any_override(PyObject* const* args, Py_ssize_t count) {
  if (subclasses_off) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = args[i];
    if (is_plain(o)) continue;
    PyTypeObject* t = Py_TYPE(o);
    if (t == &PyTuple_Type || t == &PyList_Type) {
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k) {
        const TensorKind kind = kind_of(PySequence_Fast_ITEMS(o)[k]);
        if (kind == TensorKind::Override || kind == TensorKind::Foreign) return true;
      }
      continue;
    }
    const TensorKind kind = kind_of(o);
    if (kind == TensorKind::Override || kind == TensorKind::Foreign) return true;
  }
  return false;
}

PyObject* call_override(PyObject* function, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  Overloaded found;
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  if (!subclasses_off)
    for (Py_ssize_t i = 0; i < count + named; ++i) gather(found, args[i]);
  Owned positional(PyTuple_New(count)), keywords(PyDict_New());
  if (!positional || !keywords) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(positional.get(), i, args[i]);
  }
  for (Py_ssize_t i = 0; i < named; ++i)
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(names, i), args[count + i]) < 0) return nullptr;
  Owned types(PyTuple_New(Py_ssize_t(found.objects.size())));
  for (size_t i = 0; i < found.objects.size(); ++i) {
    PyObject* t = reinterpret_cast<PyObject*>(Py_TYPE(found.objects[i]));
    Py_INCREF(t);
    PyTuple_SET_ITEM(types.get(), Py_ssize_t(i), t);
  }
  if (modes() & kFunctionMode) {
    PyObject* r =
        ask_mode(function, types.get(), positional.get(), named ? keywords.get() : nullptr);
    if (!r || r != Py_NotImplemented) return r;
    Py_DECREF(r);
    if (found.objects.empty()) return nullptr;
  }
  for (PyObject* o : found.objects) {
    Owned f(PyObject_GetAttr(o, torch_function_name()));
    if (!f) return nullptr;
    Owned r(PyObject_CallFunctionObjArgs(f.get(), function, types.get(), positional.get(),
                                         named ? keywords.get() : nullptr, nullptr));
    if (!r) return nullptr;
    if (r.get() != Py_NotImplemented) return r.leave();
  }
  Owned name(PyObject_GetAttrString(function, "__name__"));
  PyErr_Format(PyExc_TypeError, "no implementation found for 'torch.%U' on types that implement "
               "__torch_function__: %R", name ? name.get() : Py_None, types.get());
  return nullptr;
}

// DisableTorchFunctionSubclass, for rushlight.overrides: returns what it was.
PyObject* set_subclass_overrides(PyObject*, PyObject* on) {
  const bool before = !subclasses_off;
  subclasses_off = PyObject_IsTrue(on) == 0;
  return py_bool(before);
}

// Whether an argument overrides, or a mode is on; for methods and functions written in Python.
PyObject* has_torch_function(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return py_bool(any_override(args, count) || (modes() & kFunctionMode));
}

PyObject* set_function_mode(PyObject*, PyObject* on) {
  const bool before = modes() & kFunctionMode;
  switch_function_mode(PyObject_IsTrue(on));
  return py_bool(before);
}

PyObject* function_modes(PyObject*, PyObject*) { return Py_XNewRef(modes_of_thread()); }

}  // namespace rl::bind
