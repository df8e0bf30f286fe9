// What the files behind ModuleBase share: the object, its state's names, owned references, look-up.
#pragma once
#include <cstdint>

#include "bind/module.h"
#include "bind/python.h"

namespace rl::bind::nn {

// What an instance dict holds under the names that every call and look-up needs, borrowed.
struct Entries {
  PyObject *parameters, *buffers, *modules;
  PyObject *backward_pre, *backward, *forward_pre, *forward_hooks;
  PyObject* forward;
};

// The last registered values that were read, by name; names are owned, values borrowed.
struct RecentReads {
  static constexpr int kSize = 4;
  uint64_t stamp;
  PyObject* names[kSize];
  PyObject* values[kSize];

  static unsigned slot(PyObject* name) {
    const auto bits = reinterpret_cast<uintptr_t>(name);
    return unsigned(bits >> 4 ^ bits >> 7) % kSize;
  }
};

struct ModuleObject {
  PyObject_HEAD
  PyObject* dict;
  PyObject* weakrefs;
  vectorcallfunc call;
  uint64_t version;  // of `dict` when `entries` was filled
  Entries entries;
  RecentReads reads;
  uint64_t origins[kModuleOrigins];
};

inline ModuleObject* as_module(PyObject* object) { return reinterpret_cast<ModuleObject*>(object); }

// Names that are looked up often, interned once. The first kStateNames are the state of a module,
// in the order in which __init__ writes it.
enum Name {
  kTraining, kParameters, kBuffers, kNonPersistent, kBackwardPreHooks, kBackwardHooks,
  kIsFullBackwardHook, kForwardHooks, kForwardHooksWithKwargs, kForwardHooksAlwaysCalled,
  kForwardPreHooks, kForwardPreHooksWithKwargs, kStateDictHooks, kStateDictPreHooks,
  kLoadStateDictPreHooks, kLoadStateDictPostHooks, kModules,
  kStateNames,
  kForward = kStateNames, kCompiledCall, kCallImpl, kCallSuperInit, kInit, kInitSubclass,
  kGetattr, kGetattribute, kSetattr, kDelattr, kRegisterParameter, kRegisterBuffer, kIsBuffer,
  kPersistent, kGradFn,
  kNames
};
extern PyObject* names[kNames];

// Hooks common to all modules: the dicts of rushlight.nn.modules.module, whose namespace is kept
// for what it rebinds (_global_is_full_backward_hook) or defines later (BackwardHook).
struct Globals {
  PyObject* space;
  PyObject *backward_pre, *backward, *forward_pre, *forward;
  PyObject *forward_always_called, *forward_with_kwargs;
  PyObject *module_registration, *buffer_registration;
};
extern Globals globals;

// A class attribute anywhere in the method resolution order, through CPython's method cache.
// There is no public equal (PyObject_GetAttr runs descriptors); Cython relies on it as well.
inline PyObject* type_attribute(PyTypeObject* type, PyObject* name) {
  return _PyType_Lookup(type, name);
}

// A borrowed entry of the instance dict; null without an exception when it is not there.
inline PyObject* instance_attribute(PyObject* self, PyObject* name) {
  PyObject* dict = as_module(self)->dict;
  return dict ? PyDict_GetItemWithError(dict, name) : nullptr;
}

// Note [Entries by version]
// CPython gives a dict another version tag, used by no other dict, with every write to it. While
// the tag of an instance dict is the one that `entries` was filled under, the entries are those of
// the dict and alive: one comparison in place of eight look-ups, however the dict was written to
// (assignment, vars(module), unpickling). Reads of registered values are kept in the same way,
// under the sum of the three dicts' tags: each tag only grows, so the sum tells any change of
// theirs. CPython 3.14 has no tag: there each use looks again.
#if PY_VERSION_HEX < 0x030E0000
constexpr bool kDictVersions = true;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
inline uint64_t dict_version(PyObject* dict) {
  // The low bits are for watchers of the dict.
  constexpr int kOtherBits = PY_VERSION_HEX < 0x030C0000 ? 0 : PY_VERSION_HEX < 0x030D0000 ? 8 : 12;
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag >> kOtherBits;
}
#pragma GCC diagnostic pop
#else
constexpr bool kDictVersions = false;
inline uint64_t dict_version(PyObject*) { return 0; }
#endif

void fill_entries(PyObject* self);
void forget_reads(PyObject* self);

// One of the entries, borrowed: valid until the next Python code runs.
inline PyObject* entry(PyObject* self, PyObject* Entries::*which, Name name) {
  if constexpr (!kDictVersions) return instance_attribute(self, names[name]);
  ModuleObject* module = as_module(self);
  if (!module->dict) return nullptr;
  if (dict_version(module->dict) != module->version) [[unlikely]] fill_entries(self);
  return module->entries.*which;
}

inline PyObject* parameters_of(PyObject* self) {
  return entry(self, &Entries::parameters, kParameters);
}
inline PyObject* buffers_of(PyObject* self) { return entry(self, &Entries::buffers, kBuffers); }
inline PyObject* modules_of(PyObject* self) { return entry(self, &Entries::modules, kModules); }

// 1 and a new reference, 0 and null without an exception, -1 with one.
inline int optional_attribute(PyObject* object, PyObject* name, PyObject** value) {
#if PY_VERSION_HEX >= 0x030D0000
  return PyObject_GetOptionalAttr(object, name, value);
#else
  return _PyObject_LookupAttr(object, name, value);
#endif
}

// A dict's length without a call; anything else counts as filled, and its user finds out.
inline bool filled(PyObject* hooks) { return !PyDict_Check(hooks) || PyDict_GET_SIZE(hooks) != 0; }

// `key in container`, direct for plain dicts.
inline int contains(PyObject* container, PyObject* key) {
  if (PyDict_CheckExact(container)) {
    return PyDict_GET_SIZE(container) == 0 ? 0 : PyDict_Contains(container, key);
  }
  return PySequence_Contains(container, key);
}

// What the namespace of module.py calls `name`, borrowed; NameError when it has no such name.
PyObject* global_name(const char* name);

// The next class after ModuleBase in the order of type(self): what super() is inside Module.
inline Owned super_of(PyObject* self) {
  return Owned(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type),
                                            module_base, self, nullptr));
}

// Points the slots of a Python subclass at the functions here where nothing overrides them.
void adopt(PyTypeObject* type);

PyObject* getattro(PyObject* self, PyObject* name);                                   // tp_getattro
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs);                     // tp_call
PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);
PyObject* call_hooked(PyObject* self, PyObject* args, PyObject* kwargs);

// Methods of the same names.
PyObject* getattr(PyObject* self, PyObject* name);
PyObject* setattr(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* delattr(PyObject* self, PyObject* name);
PyObject* call_impl(PyObject* self, PyObject* args, PyObject* kwargs);

// True once any module was given a _compiled_call_impl: until then no call looks for one.
extern bool any_compiled;

}  // namespace rl::bind::nn
