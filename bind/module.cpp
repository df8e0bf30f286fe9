// ModuleBase: the type, the state of its instances and the slots of its Python subclasses.
#include "bind/module.h"

#include <structmember.h>

#include <cstddef>

#include "bind/module_state.h"
#include "bind/origin.h"

namespace rl::bind {

PyTypeObject* module_base = nullptr;

namespace nn {

PyObject* names[kNames];
Globals globals;

namespace {

constexpr const char* kSpelling[kNames] = {
    "training", "_parameters", "_buffers", "_non_persistent_buffers_set", "_backward_pre_hooks",
    "_backward_hooks", "_is_full_backward_hook", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks", "_modules",
    "forward", "_compiled_call_impl", "_call_impl", "call_super_init", "__init__",
    "__init_subclass__", "__getattr__", "__getattribute__", "__setattr__", "__delattr__",
    "register_parameter", "register_buffer", "_is_buffer", "persistent", "grad_fn"};

// A module's state at the start: plain dicts for what is registered, ordered ones for hooks.
PyObject* initial_value(Name name) {
  switch (name) {
    case kTraining: return Py_NewRef(Py_True);
    case kIsFullBackwardHook: return Py_NewRef(Py_None);
    case kParameters: case kBuffers: case kModules: return PyDict_New();
    case kNonPersistent: return PySet_New(nullptr);
    default: return PyODict_New();
  }
}

// Writes an entry past Module.__setattr__, but through a property of that name if a class has one.
bool write_state(PyObject* self, Name name) {
  Owned value(initial_value(name));
  if (!value) return false;
  PyObject* found = type_attribute(Py_TYPE(self), names[name]);
  if (found && PyDescr_IsData(found)) {
    return PyObject_GenericSetAttr(self, names[name], value.get()) == 0;
  }
  return PyDict_SetItem(as_module(self)->dict, names[name], value.get()) == 0;
}

bool ensure_dict(PyObject* self) {
  ModuleObject* module = as_module(self);
  if (!module->dict) module->dict = PyDict_New();
  return module->dict != nullptr;
}

// Arguments go to the next class's __init__ where `call_super_init` says so, else to nobody.
bool refuse_arguments(PyObject* self, PyObject* args, PyObject* kwargs) {
  Owned type(PyType_GetName(Py_TYPE(self)));
  if (!type) return false;
  if (kwargs && PyDict_GET_SIZE(kwargs)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    PyDict_Next(kwargs, &position, &key, &value);
    PyErr_Format(PyExc_TypeError, "%U.__init__() got an unexpected keyword argument '%S'",
                 type.get(), key);
    return false;
  }
  if (PyTuple_GET_SIZE(args) == 0) return true;
  PyErr_Format(PyExc_TypeError, "%U.__init__() takes 1 positional argument but %zd were given",
               type.get(), PyTuple_GET_SIZE(args) + 1);
  return false;
}

int init(PyObject* self, PyObject* args, PyObject* kwargs) {
  origins_here(as_module(self)->origins, kModuleOrigins);
  adopt(Py_TYPE(self));
  as_module(self)->call = vectorcall;
  PyObject* value = nullptr;
  if (optional_attribute(self, names[kCallSuperInit], &value) < 0) return -1;
  Owned call_super(value ? value : Py_NewRef(Py_False));
  if (call_super.get() == Py_False && !refuse_arguments(self, args, kwargs)) return -1;
  if (!ensure_dict(self)) return -1;
  for (int name = 0; name < kStateNames; ++name) {
    if (!write_state(self, Name(name))) return -1;
  }
  const int onward = PyObject_IsTrue(call_super.get());
  if (onward <= 0) return onward;
  Owned parent = super_of(self);
  Owned method(parent ? PyObject_GetAttr(parent.get(), names[kInit]) : nullptr);
  return method && Owned(PyObject_Call(method.get(), args, kwargs)) ? 0 : -1;
}

PyObject* init_subclass(PyObject* type, PyObject* args, PyObject* kwargs) {
  Owned parent = super_of(type);
  Owned method(parent ? PyObject_GetAttr(parent.get(), names[kInitSubclass]) : nullptr);
  Owned result(method ? PyObject_Call(method.get(), args, kwargs) : nullptr);
  if (result) adopt(reinterpret_cast<PyTypeObject*>(type));
  return result.leave();
}

PyObject* getstate(PyObject* self, PyObject*) {
  if (!ensure_dict(self)) return nullptr;
  Owned state(PyDict_Copy(as_module(self)->dict));
  if (!state) return nullptr;
  const int found = PyDict_Contains(state.get(), names[kCompiledCall]);
  if (found < 0 || (found && PyDict_DelItem(state.get(), names[kCompiledCall]) < 0)) return nullptr;
  return state.leave();
}

// Takes the saved entries, and fills in those that states saved by older versions lack.
PyObject* setstate(PyObject* self, PyObject* state) {
  if (!ensure_dict(self)) return nullptr;
  adopt(Py_TYPE(self));
  as_module(self)->call = vectorcall;
  if (!Owned(PyObject_CallMethod(as_module(self)->dict, "update", "(O)", state))) return nullptr;
  constexpr Name kLater[] = {
      kForwardPreHooks, kForwardPreHooksWithKwargs, kForwardHooksWithKwargs,
      kForwardHooksAlwaysCalled, kStateDictHooks, kStateDictPreHooks, kLoadStateDictPreHooks,
      kLoadStateDictPostHooks, kNonPersistent, kIsFullBackwardHook, kBackwardPreHooks};
  for (Name name : kLater) {
    const int found = PyDict_Contains(as_module(self)->dict, names[name]);
    if (found < 0 || (!found && !write_state(self, name))) return nullptr;
  }
  Py_RETURN_NONE;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_module(self)->dict);
  return 0;
}

int clear(PyObject* self) {
  forget_reads(self);
  as_module(self)->version = 0;
  Py_CLEAR(as_module(self)->dict);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_module(self)->weakrefs) PyObject_ClearWeakRefs(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

template <class Function>
PyCFunction method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef kMethods[] = {
    {"__getattr__", getattr, METH_O, "Returns the parameter, buffer or child of that name."},
    {"__setattr__", method(setattr), METH_FASTCALL, "Sets or registers an attribute."},
    {"__delattr__", delattr, METH_O, "Deletes a parameter, buffer, child or attribute."},
    {"__getstate__", getstate, METH_NOARGS, "Returns a copy of the instance's dict."},
    {"__setstate__", setstate, METH_O, "Takes the entries of a saved state."},
    {"__init_subclass__", method(init_subclass), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     nullptr},
    {"_call_impl", method(call_impl), METH_VARARGS | METH_KEYWORDS,
     "Calls forward with the hooks around it."},
    {"_wrapped_call_impl", method(call), METH_VARARGS | METH_KEYWORDS,
     "Calls the compiled form if there is one, else _call_impl."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(ModuleObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ModuleObject, weakrefs), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ModuleObject, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef kGetSet[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot kSlots[] = {
    {Py_tp_doc, const_cast<char*>("Base of nn.Module: its state, call and attribute look-up.")},
    {Py_tp_init, reinterpret_cast<void*>(init)},
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, kMethods},
    {Py_tp_members, kMembers},
    {Py_tp_getset, kGetSet},
    {0, nullptr}};

PyType_Spec kSpec = {"rushlight._C.ModuleBase", sizeof(ModuleObject), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                         Py_TPFLAGS_HAVE_VECTORCALL,
                     kSlots};

// _set_module_globals(namespace): the namespace of rushlight.nn.modules.module, once it has its
// dicts of common hooks. The dicts are kept as they are: to empty one, clear it.
PyObject* set_module_globals(PyObject*, PyObject* space) {
  if (!PyDict_Check(space)) {
    PyErr_SetString(PyExc_TypeError, "_set_module_globals() takes a namespace (a dict)");
    return nullptr;
  }
  struct {
    const char* name;
    PyObject** place;
  } const wanted[] = {
      {"_global_backward_pre_hooks", &globals.backward_pre},
      {"_global_backward_hooks", &globals.backward},
      {"_global_forward_pre_hooks", &globals.forward_pre},
      {"_global_forward_hooks", &globals.forward},
      {"_global_forward_hooks_always_called", &globals.forward_always_called},
      {"_global_forward_hooks_with_kwargs", &globals.forward_with_kwargs},
      {"_global_module_registration_hooks", &globals.module_registration},
      {"_global_buffer_registration_hooks", &globals.buffer_registration}};
  for (const auto& entry : wanted) {
    PyObject* dict = PyDict_GetItemString(space, entry.name);
    if (!dict || !PyDict_Check(dict)) {
      return PyErr_Format(PyExc_TypeError, "_set_module_globals(): %s must be a dict", entry.name);
    }
  }
  for (const auto& entry : wanted) {
    Py_XSETREF(*entry.place, Py_NewRef(PyDict_GetItemString(space, entry.name)));
  }
  Py_XSETREF(globals.space, Py_NewRef(space));
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"_set_module_globals", set_module_globals, METH_O,
     "Registers the namespace that holds the hooks common to all modules."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void forget_reads(PyObject* self) {
  RecentReads& reads = as_module(self)->reads;
  reads.stamp = 0;
  for (PyObject*& name : reads.names) Py_CLEAR(name);
}

void fill_entries(PyObject* self) {
  ModuleObject* module = as_module(self);
  forget_reads(self);
  module->version = dict_version(module->dict);
  const auto find = [self](Name name) { return instance_attribute(self, names[name]); };
  module->entries = {find(kParameters),       find(kBuffers),       find(kModules),
                     find(kBackwardPreHooks), find(kBackwardHooks), find(kForwardPreHooks),
                     find(kForwardHooks),     find(kForward)};
}

PyObject* global_name(const char* name) {
  PyObject* value = globals.space ? PyDict_GetItemString(globals.space, name) : nullptr;
  if (!value) PyErr_Format(PyExc_NameError, "name '%s' is not defined", name);
  return value;
}

// Note [Slots of Python subclasses]
// CPython gives a subclass that inherits a __getattr__ method its general slot, which looks both
// __getattribute__ and __getattr__ up at every access and raises in between. A subclass that
// overrides neither can use getattro here, which has the same outcome; so can no other, and a
// class that is given a __getattr__ later gets the general slot back from CPython. The slot is
// set when a class or the first of its instances is made. __setattr__ stays an ordinary method:
// a C slot would make CPython refuse object.__setattr__(module, ...), which programs use to store
// a module without registering it. Heap types do not inherit the vectorcall flag in
// 3.11, and a class with a _call_impl of its own must be called through it.
void adopt(PyTypeObject* type) {
  bool changed = false;
  const auto inherits = [type](Name name) {
    return type_attribute(type, names[name]) == type_attribute(module_base, names[name]);
  };
  if (type->tp_getattro != getattro && inherits(kGetattr) && inherits(kGetattribute)) {
    type->tp_getattro = getattro;
    changed = true;
  }
  if (type->tp_call == call &&
      PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) != int(inherits(kCallImpl))) {
    type->tp_vectorcall_offset = offsetof(ModuleObject, call);
    type->tp_flags ^= Py_TPFLAGS_HAVE_VECTORCALL;
    changed = true;
  }
  if (changed) PyType_Modified(type);
}

}  // namespace nn

const uint64_t* module_origins(PyObject* module) { return nn::as_module(module)->origins; }

int add_module_base(PyObject* c_module) {
  using namespace nn;
  for (int i = 0; i < kNames; ++i) {
    names[i] = PyUnicode_InternFromString(kSpelling[i]);
    if (!names[i]) return -1;
  }
  PyObject* type = PyType_FromSpec(&kSpec);
  if (!type) return -1;
  module_base = reinterpret_cast<PyTypeObject*>(type);
  if (PyModule_AddObjectRef(c_module, "ModuleBase", type) < 0) return -1;
  return PyModule_AddFunctions(c_module, kFunctions);
}

}  // namespace rl::bind
