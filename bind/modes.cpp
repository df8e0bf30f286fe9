// no_grad, enable_grad and inference_mode: context managers that set bits of the mode word.
#include "bind/autograd.h"
#include "bind/types.h"
#include "ops/autocast.h"

namespace rl::bind {
namespace {

// What the thread's mode word was is kept here, so that an object may be entered again and again.
struct ModeObject {
  PyObject_HEAD
  uint32_t set, clear;        // bits to set and to clear on entry
  uint32_t before;
  bool mode;
};

ModeObject* self_of(PyObject* o) { return reinterpret_cast<ModeObject*>(o); }
constexpr uint32_t kGradBits = kNoGrad | kInference;

void mode_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

// With a function as its only argument the class is used as a decorator without parentheses.
PyObject* decorate(PyTypeObject* type, PyObject* function) {
  Owned context(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(type)));
  return context ? PyObject_CallOneArg(context.get(), function) : nullptr;
}

template <uint32_t Set, uint32_t Clear>
PyObject* mode_new(PyTypeObject* type, PyObject* args, PyObject*) {
  if (PyTuple_GET_SIZE(args) == 1 && PyTuple_GET_ITEM(args, 0) != Py_None) {
    return decorate(type, PyTuple_GET_ITEM(args, 0));
  }
  if (PyTuple_GET_SIZE(args) > 1) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most one argument, a function", type->tp_name);
    return nullptr;
  }
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) return nullptr;
  self_of(o)->set = Set;
  self_of(o)->clear = Clear;
  self_of(o)->mode = true;
  return o;
}

PyObject* inference_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* mode = Py_True;
  static const char* names[] = {"mode", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:inference_mode", const_cast<char**>(names),
                                   &mode)) {
    return nullptr;
  }
  if (!PyBool_Check(mode)) return decorate(type, mode);
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) return nullptr;
  self_of(o)->mode = mode == Py_True;
  self_of(o)->set = mode == Py_True ? kGradBits : 0;
  self_of(o)->clear = mode == Py_True ? 0 : kGradBits;
  return o;
}

int mode_init(PyObject*, PyObject*, PyObject*) { return 0; }

PyObject* mode_enter(PyObject* o, PyObject*) {
  ModeObject* self = self_of(o);
  self->before = modes_word;
  modes_word = (modes_word & ~self->clear) | self->set;
  Py_RETURN_NONE;
}
PyObject* mode_exit(PyObject* o, PyObject* const*, Py_ssize_t) {
  const uint32_t bits = self_of(o)->set | self_of(o)->clear;
  modes_word = (modes_word & ~bits) | (self_of(o)->before & bits);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"__enter__", mode_enter, METH_NOARGS, nullptr},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(mode_exit)), METH_FASTCALL,
     nullptr},
    {}};
PyMemberDef members[] = {{"prev_word", T_UINT, offsetof(ModeObject, before), READONLY, nullptr},
                         {"mode", T_BOOL, offsetof(ModeObject, mode), READONLY, nullptr},
                         {}};

int add_type(PyObject* module, const char* name, newfunc make) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                         {Py_tp_init, reinterpret_cast<void*>(mode_init)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(mode_dealloc)},
                         {Py_tp_methods, methods},
                         {Py_tp_members, members},
                         {0, nullptr}};
  const std::string full = std::string("rushlight._C.") + name;
  static std::vector<std::string> kept;
  kept.reserve(4);
  kept.push_back(full);
  PyType_Spec spec = {kept.back().c_str(), sizeof(ModeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  Owned type(PyType_FromSpec(&spec));
  return type ? PyModule_AddObjectRef(module, name, type.get()) : -1;
}

// ---- Autocast on the CPU

PyObject* autocast_on(PyObject*, PyObject*) { return py_bool(modes() & kAutocast); }
PyObject* set_autocast(PyObject*, PyObject* on) {
  const int v = PyObject_IsTrue(on);
  if (v < 0) return nullptr;
  const bool before = modes() & kAutocast;
  modes_word = v ? modes_word | kAutocast : modes_word & ~kAutocast;
  return py_bool(before);
}
PyObject* autocast_dtype_get(PyObject*, PyObject*) { return wrap_dtype(autocast_dtype); }
PyObject* autocast_dtype_set(PyObject*, PyObject* o) {
  return guarded([&] {
    check(is_dtype(o), ErrorKind::Type, "dtype must be torch.dtype, not ", Py_TYPE(o)->tp_name);
    autocast_dtype = dtype_of(o);
    return none();
  });
}
PyObject* cache_on(PyObject*, PyObject*) { return py_bool(autocast_cache_enabled); }
PyObject* set_cache(PyObject*, PyObject* on) {
  const int v = PyObject_IsTrue(on);
  if (v < 0) return nullptr;
  autocast_cache_enabled = v;
  return none();
}
PyObject* clear_cache(PyObject*, PyObject*) {
  clear_autocast_cache();
  return none();
}
PyObject* nest(PyObject*, PyObject*) { return PyLong_FromLong(++autocast_nesting); }
PyObject* unnest(PyObject*, PyObject*) { return PyLong_FromLong(--autocast_nesting); }
PyMethodDef functions[] = {
    {"_autocast_enabled", autocast_on, METH_NOARGS, nullptr},
    {"_set_autocast", set_autocast, METH_O, nullptr},
    {"_autocast_dtype", autocast_dtype_get, METH_NOARGS, nullptr},
    {"_set_autocast_dtype", autocast_dtype_set, METH_O, nullptr},
    {"is_autocast_cache_enabled", cache_on, METH_NOARGS, nullptr},
    {"set_autocast_cache_enabled", set_cache, METH_O, nullptr},
    {"clear_autocast_cache", clear_cache, METH_NOARGS, nullptr},
    {"autocast_increment_nesting", nest, METH_NOARGS, nullptr},
    {"autocast_decrement_nesting", unnest, METH_NOARGS, nullptr},
    {}};

}  // namespace

int add_modes(PyObject* module) {
  return PyModule_AddFunctions(module, functions) |
         add_type(module, "_NoGrad", mode_new<kNoGrad, 0>) |
         add_type(module, "_EnableGrad", mode_new<0, kNoGrad>) |
         add_type(module, "_InferenceMode", inference_new);
}

}  // namespace rl::bind
