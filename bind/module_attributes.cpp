// Attributes of a Module: look-up, assignment and deletion, with parameters, buffers and children.
#include <initializer_list>
#include <utility>

#include "bind/module_state.h"
#include "bind/tensor.h"

namespace rl::bind::nn {

bool any_compiled = false;

namespace {

// '{typename(value)}' as error messages show it.
Owned typename_of(PyObject* value) {
  PyObject* function = global_name("typename");
  return function ? Owned(PyObject_CallOneArg(function, value)) : Owned();
}

void raise_missing(PyObject* self, PyObject* name) {
  Owned type(PyType_GetName(Py_TYPE(self)));
  if (!type) return;
  // %S would handle signals, and lose what their handler raises.
  PyErr_Format(PyExc_AttributeError,
               PyUnicode_Check(name) ? "'%U' object has no attribute '%U'"
                                     : "'%U' object has no attribute '%S'",
               type.get(), name);
}

// The value under `name` in one of a module's dicts, or null; an exception is left standing.
PyObject* find(PyObject* entries, PyObject* name) {
  if (!entries) return nullptr;
  if (PyDict_CheckExact(entries)) {
    return PyDict_GET_SIZE(entries) ? Py_XNewRef(PyDict_GetItemWithError(entries, name)) : nullptr;
  }
  Owned held = Owned::share(entries);
  return PySequence_Contains(entries, name) > 0 ? PyObject_GetItem(entries, name) : nullptr;
}

PyObject* registered(PyObject* self, PyObject* name) {
  PyObject* value = find(parameters_of(self), name);
  if (!value) value = find(buffers_of(self), name);
  if (!value) value = find(modules_of(self), name);
  // A key whose comparison raised may stand in any of the dicts.
  if (PyErr_Occurred()) [[unlikely]] {
    Py_XDECREF(value);
    return nullptr;
  }
  if (!value) raise_missing(self, name);
  return value;
}

// The sum of the versions of the dicts that hold what is registered; 0 if one is no plain dict.
uint64_t reads_stamp(PyObject* self) {
  uint64_t sum = 0;
  for (PyObject* dict : {parameters_of(self), buffers_of(self), modules_of(self)}) {
    if (!dict || !PyDict_CheckExact(dict)) return 0;
    sum += dict_version(dict);
  }
  return sum;
}

// A name that neither the class nor the instance dict has. See Note [Entries by version].
PyObject* read_registered(PyObject* self, PyObject* name) {
  const uint64_t stamp = kDictVersions ? reads_stamp(self) : 0;
  if (!stamp) return registered(self, name);
  RecentReads& reads = as_module(self)->reads;
  const unsigned slot = RecentReads::slot(name);
  if (reads.stamp != stamp) {
    forget_reads(self);
    reads.stamp = stamp;
  }
  PyObject* value = registered(self, name);
  if (value && stamp == reads_stamp(self) && reads.stamp == stamp) {
    Py_XSETREF(reads.names[slot], Py_NewRef(name));
    reads.values[slot] = value;
  }
  return value;
}

// What a look-up of the same name found, if nothing was written since; else null.
PyObject* recent_read(PyObject* self, PyObject* name) {
  const RecentReads& reads = as_module(self)->reads;
  const unsigned slot = RecentReads::slot(name);
  if (reads.names[slot] != name || reads.stamp != reads_stamp(self)) return nullptr;
  if (reads.names[slot] != name) return nullptr;  // the stamp was taken of entries filled anew
  return Py_NewRef(reads.values[slot]);
}

// Ends a generic look-up that failed: only an AttributeError lets the registered entries answer.
PyObject* after_failure(PyObject* self, PyObject* name) {
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  PyErr_Clear();
  return registered(self, name);
}

// Removes `name` from what self.<attribute> holds, a dict or a set.
bool remove_from(PyObject* self, Name attribute, PyObject* name) {
  Owned held = Owned::share(instance_attribute(self, names[attribute]));
  if (!held) {
    if (PyErr_Occurred()) return false;
    held = Owned(PyObject_GetAttr(self, names[attribute]));
    if (!held) return false;
  }
  if (PyAnySet_Check(held.get())) return PySet_Discard(held.get(), name) >= 0;
  const int found = contains(held.get(), name);
  return found == 0 || (found > 0 && PyObject_DelItem(held.get(), name) == 0);
}

bool remove_plain(PyObject* self, PyObject* name) {
  PyObject* dict = as_module(self)->dict;
  const int found = dict ? PyDict_Contains(dict, name) : 0;
  return found == 0 || (found > 0 && PyDict_DelItem(dict, name) == 0);
}

// Runs the registration hooks, each of which may replace the value.
bool run_registration_hooks(PyObject* hooks, PyObject* self, PyObject* name, Owned& value) {
  if (!hooks || PyDict_GET_SIZE(hooks) == 0) return true;
  Owned calls(PyMapping_Values(hooks));
  for (Py_ssize_t i = 0; calls && i < PyList_GET_SIZE(calls.get()); ++i) {
    Owned output(PyObject_CallFunctionObjArgs(PyList_GET_ITEM(calls.get(), i), self, name,
                                              value.get(), nullptr));
    if (!output) return false;
    if (output.get() != Py_None) value = std::move(output);
  }
  return static_cast<bool>(calls);
}

bool register_parameter(PyObject* self, PyObject* name, PyObject* value) {
  return static_cast<bool>(Owned(
      PyObject_CallMethodObjArgs(self, names[kRegisterParameter], name, value, nullptr)));
}

bool set_parameter(PyObject* self, PyObject* name, PyObject* value, PyObject* parameters) {
  if (!parameters) {
    PyErr_SetString(PyExc_AttributeError, "cannot assign parameters before Module.__init__() call");
    return false;
  }
  return remove_plain(self, name) && remove_from(self, kBuffers, name) &&
         remove_from(self, kModules, name) && remove_from(self, kNonPersistent, name) &&
         register_parameter(self, name, value);
}

// Raises unless the value is None: only a value of the right kind or None may take such a name.
bool refuse_unless_none(PyObject* value, const char* format, PyObject* name) {
  if (value == Py_None) return true;
  Owned type = typename_of(value);
  if (type) PyErr_Format(PyExc_TypeError, format, type.get(), name);
  return false;
}

bool store_module(PyObject* self, PyObject* name, PyObject* value, PyObject* modules) {
  Owned held = Owned::share(modules);
  Owned stored = Owned::share(value);
  return run_registration_hooks(globals.module_registration, self, name, stored) &&
         PyObject_SetItem(held.get(), name, stored.get()) == 0;
}

bool set_module(PyObject* self, PyObject* name, PyObject* value, PyObject* modules) {
  if (!modules) {
    PyErr_SetString(PyExc_AttributeError, "cannot assign module before Module.__init__() call");
    return false;
  }
  Owned held = Owned::share(modules);
  return remove_plain(self, name) && remove_from(self, kParameters, name) &&
         remove_from(self, kBuffers, name) && remove_from(self, kNonPersistent, name) &&
         store_module(self, name, value, held.get());
}

// A tensor made by nn.Buffer carries a true `_is_buffer`: 1, 0, or -1 with an exception.
int is_buffer(PyObject* value) {
  if (!is_tensor(value)) return 0;
  PyObject* mark = nullptr;
  if (optional_attribute(value, names[kIsBuffer], &mark) < 0) return -1;
  Owned held(mark);
  return mark ? PyObject_IsTrue(mark) : 0;
}

// 1 when the value may stand as a buffer, else 0 with a TypeError or -1.
int check_buffer(PyObject* value, PyObject* name) {
  if (value == Py_None || is_tensor(value)) return 1;
  const int like = PyObject_HasAttrString(value, "__torch_function__");
  if (like) return 1;
  return refuse_unless_none(value,
                            "cannot assign '%U' as buffer '%S' "
                            "(torch.nn.Buffer, torch.Tensor or None expected)",
                            name);
}

bool overrides_register_buffer(PyObject* self) {
  PyObject* own = global_name("Module");
  if (!own) {
    PyErr_Clear();
    return true;
  }
  PyObject* dict = as_module(self)->dict;
  PyObject* name = names[kRegisterBuffer];
  return type_attribute(reinterpret_cast<PyTypeObject*>(own), name) !=
             type_attribute(Py_TYPE(self), name) ||
         (dict && PyDict_Contains(dict, name) != 0);
}

// Does an overriding register_buffer take `persistent`? 1, 0, or -1 with an exception.
int takes_persistent(PyObject* method) {
  Owned inspect(PyImport_ImportModule("inspect"));
  if (!inspect) return -1;
  Owned signature(PyObject_CallMethod(inspect.get(), "signature", "O", method));
  if (!signature) return -1;
  Owned parameters(PyObject_GetAttrString(signature.get(), "parameters"));
  return parameters ? PySequence_Contains(parameters.get(), names[kPersistent]) : -1;
}

bool register_buffer(PyObject* self, PyObject* name, PyObject* value, bool persistent) {
  Owned method(PyObject_GetAttr(self, names[kRegisterBuffer]));
  if (!method) return false;
  if (overrides_register_buffer(self)) {
    const int takes = takes_persistent(method.get());
    if (takes < 0) return false;
    if (!takes) {
      if (!persistent) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Registering a non-persistent buffer on a Module subclass that implements "
                        "register_buffer() without the persistent argument is not allowed.");
        return false;
      }
      return static_cast<bool>(
          Owned(PyObject_CallFunctionObjArgs(method.get(), name, value, nullptr)));
    }
  }
  return static_cast<bool>(Owned(PyObject_CallFunctionObjArgs(
      method.get(), name, value, persistent ? Py_True : Py_False, nullptr)));
}

bool set_buffer(PyObject* self, PyObject* name, PyObject* value, PyObject* buffers, bool known,
                bool made_buffer) {
  if (check_buffer(value, name) != 1) return false;
  // A new value under a known name keeps its persistence, so the entry is all that changes.
  if (known && !made_buffer && PyDict_CheckExact(buffers) && !overrides_register_buffer(self) &&
      globals.buffer_registration && PyDict_GET_SIZE(globals.buffer_registration) == 0) {
    return PyDict_SetItem(buffers, name, value) == 0;
  }
  int persistent;
  if (made_buffer) {
    Owned mark(PyObject_GetAttr(value, names[kPersistent]));
    persistent = mark ? PyObject_IsTrue(mark.get()) : -1;
  } else {
    Owned names_left_out(PyObject_GetAttr(self, names[kNonPersistent]));
    if (!names_left_out) return false;
    persistent = PySequence_Contains(names_left_out.get(), name);
    if (persistent >= 0) persistent = !persistent;
  }
  return persistent >= 0 && register_buffer(self, name, value, persistent == 1);
}

bool object_follows(PyTypeObject* type) {
  PyObject* order = type->tp_mro;
  const Py_ssize_t size = PyTuple_GET_SIZE(order);
  return size >= 2 && PyTuple_GET_ITEM(order, size - 2) == reinterpret_cast<PyObject*>(module_base);
}

bool set_plain(PyObject* self, PyObject* name, PyObject* value) {
  if (name == names[kCompiledCall] && value != Py_None) any_compiled = true;
  if (object_follows(Py_TYPE(self))) return PyObject_GenericSetAttr(self, name, value) == 0;
  Owned parent = super_of(self);
  if (!parent) return false;
  return static_cast<bool>(
      Owned(PyObject_CallMethodObjArgs(parent.get(), names[kSetattr], name, value, nullptr)));
}

bool assign(PyObject* self, PyObject* name, PyObject* value) {
  PyObject* parameters = instance_attribute(self, names[kParameters]);
  if (!parameters && PyErr_Occurred()) return false;
  if (is_parameter(value)) return set_parameter(self, name, value, parameters);
  int known = parameters ? contains(parameters, name) : 0;
  if (known < 0) return false;
  if (known) {
    return refuse_unless_none(value,
                              "cannot assign '%U' as parameter '%S' "
                              "(torch.nn.Parameter or None expected)",
                              name) &&
           register_parameter(self, name, value);
  }
  PyObject* modules = instance_attribute(self, names[kModules]);
  if (!modules && PyErr_Occurred()) return false;
  if (is_module(value)) return set_module(self, name, value, modules);
  known = modules ? contains(modules, name) : 0;
  if (known < 0) return false;
  if (known) {
    return refuse_unless_none(value,
                              "cannot assign '%U' as child module '%S' "
                              "(torch.nn.Module or None expected)",
                              name) &&
           store_module(self, name, value, modules);
  }
  PyObject* buffers = instance_attribute(self, names[kBuffers]);
  if (!buffers && PyErr_Occurred()) return false;
  known = buffers ? contains(buffers, name) : 0;
  const int made_buffer = known < 0 ? -1 : is_buffer(value);
  if (made_buffer < 0) return false;
  if (known || made_buffer) return set_buffer(self, name, value, buffers, known, made_buffer);
  return set_plain(self, name, value);
}

}  // namespace

PyObject* getattro(PyObject* self, PyObject* name) {
  PyTypeObject* type = Py_TYPE(self);
  Owned found = Owned::share(type_attribute(type, name));
  if (!found) {
    if (PyObject* value = recent_read(self, name)) return value;
  }
  descrgetfunc get = found ? Py_TYPE(found.get())->tp_descr_get : nullptr;
  if (get && PyDescr_IsData(found.get())) {
    PyObject* value = get(found.get(), self, reinterpret_cast<PyObject*>(type));
    return value ? value : after_failure(self, name);
  }
  if (PyObject* value = instance_attribute(self, name)) return Py_NewRef(value);
  if (PyErr_Occurred()) return nullptr;
  if (get) {
    PyObject* value = get(found.get(), self, reinterpret_cast<PyObject*>(type));
    return value ? value : after_failure(self, name);
  }
  return found ? found.leave() : read_registered(self, name);
}

PyObject* getattr(PyObject* self, PyObject* name) { return registered(self, name); }

PyObject* setattr(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2) {
    PyErr_Format(PyExc_TypeError, "__setattr__() takes 2 arguments (%zd given)", nargs);
    return nullptr;
  }
  return assign(self, args[0], args[1]) ? Py_NewRef(Py_None) : nullptr;
}

PyObject* delattr(PyObject* self, PyObject* name) {
  for (Name kind : {kParameters, kBuffers, kModules}) {
    Owned entries(PyObject_GetAttr(self, names[kind]));
    if (!entries) return nullptr;
    const int found = contains(entries.get(), name);
    if (found < 0 || (found && PyObject_DelItem(entries.get(), name) < 0)) return nullptr;
    if (found && kind == kBuffers && !remove_from(self, kNonPersistent, name)) return nullptr;
    if (found) Py_RETURN_NONE;
  }
  if (object_follows(Py_TYPE(self))) {
    return PyObject_GenericSetAttr(self, name, nullptr) == 0 ? Py_NewRef(Py_None) : nullptr;
  }
  Owned parent = super_of(self);
  return parent ? PyObject_CallMethodOneArg(parent.get(), names[kDelattr], name) : nullptr;
}

}  // namespace rl::bind::nn
