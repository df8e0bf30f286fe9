// ModuleBase, the C base type of nn.Module: its registration and who is told of module calls.
#pragma once
#include <Python.h>

#include <cstdint>

namespace rl::bind {

// Told when a module's call begins and when it ends. `left` also runs when the call raised: the
// exception is then set, and must still be the one that is set when `left` returns.
struct ModuleObserver {
  void (*entered)(PyObject* module);
  void (*left)(PyObject* module);
};

// Null while nobody observes: a call then pays one predictable branch.
extern const ModuleObserver* module_observer;

extern PyTypeObject* module_base;

// Where a module was made: the innermost user frames; 0 where there are fewer.
constexpr int kModuleOrigins = 4;
const uint64_t* module_origins(PyObject* module);

inline bool is_module(PyObject* object) { return PyObject_TypeCheck(object, module_base); }

// Adds ModuleBase and _set_module_globals to the extension module; -1 with an exception on failure.
int add_module_base(PyObject* c_module);

}  // namespace rl::bind
