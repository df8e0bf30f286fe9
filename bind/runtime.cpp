// Settings and facts of the runtime as functions of _C.
#include "bind/runtime.h"

#include <csignal>

#include "base/allocator.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "bind/op.h"
#include "ops/dispatch.h"
#include "ops/promotion.h"

namespace rl::bind {
namespace {

// ---- Warnings and the lock, for the core

void warn_python(const char* message) {
  WithLock lock;
  if (PyErr_WarnEx(PyExc_UserWarning, message, 1) < 0) throw PythonError();
}
void* release_lock() { return holds_lock() ? PyEval_SaveThread() : nullptr; }
void acquire_lock(void* state) { restore_lock(static_cast<PyThreadState*>(state)); }

// Note [Signals within a kernel]
// Handlers of signals may do anything: draw random numbers, save a model that the kernel is half
// through with changing, build a graph. So they run between ops, as in PyTorch. Python's own answer
// to Ctrl-C only raises, and does so within kernels; a trial's alarm too, which says so beforehand.
PyObject *handler_of = nullptr, *plain_handler = nullptr;
bool all_stop_kernels = false;

// Whether a kernel is to stop; only the main thread is asked. The exception stays set.
bool signalled() {
  static const unsigned long main_thread = PyThread_get_thread_ident();  // first asked at import
  if (PyThread_get_thread_ident() != main_thread) return false;
  const WithLock lock;
  if (all_stop_kernels) return PyErr_CheckSignals() != 0;
  const Owned handler(PyObject_CallFunction(handler_of, "i", SIGINT));
  if (handler.get() != plain_handler) {
    PyErr_Clear();
    return false;
  }
  if (!PyOS_InterruptOccurred()) return false;
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  return true;
}
PyObject* stop_kernels(PyObject*, PyObject* all) {
  const int on = PyObject_IsTrue(all);
  if (on < 0) return nullptr;
  all_stop_kernels = on;
  Py_RETURN_NONE;
}

// ---- Threads

PyObject* get_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }
PyObject* set_threads(PyObject*, PyObject* n) {
  return guarded([&] {
    const long v = PyLong_AsLong(n);
    if (v == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      fail(ErrorKind::Type, "set_num_threads expects an int, but got ", Py_TYPE(n)->tp_name);
    }
    check(v > 0, "set_num_threads expects a positive integer");
    set_num_threads(int(v));
    return none();
  });
}

// ---- Dtypes

PyObject* get_default(PyObject*, PyObject*) { return wrap_dtype(default_dtype()); }
PyObject* set_default(PyObject*, PyObject* o) {
  return guarded([&] {
    check(is_dtype(o), ErrorKind::Type, "invalid dtype object: only floating-point types are "
          "supported as the default type");
    check(is_floating(dtype_of(o)), ErrorKind::Type, "only floating-point types are supported as the "
          "default type");
    check(!is_stored_only(dtype_of(o)), ErrorKind::Type, "couldn't find storage object ",
          type_name_of(dtype_of(o)), "Storage");
    set_default_dtype(dtype_of(o));
    return none();
  });
}
// The two dtypes that a function takes, named as PyTorch names them.
void read_dtypes(const char* function, PyObject* args, const char* first, const char* second,
                 PyObject*& a, PyObject*& b) {
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  check(n >= 2, ErrorKind::Type, function, "() missing ", int64_t(2 - n),
        " required positional arguments: \"", n ? second : first, n ? "\"" : "\", \"",
        n ? "" : second, n ? "" : "\"");
  check(n == 2, ErrorKind::Type, function, "() takes 2 positional arguments but ", int64_t(n),
        " were given");
  a = PyTuple_GET_ITEM(args, 0);
  b = PyTuple_GET_ITEM(args, 1);
  check(is_dtype(a), ErrorKind::Type, function, "(): argument '", first,
        "' (position 1) must be torch.dtype, not ", Py_TYPE(a)->tp_name);
  check(is_dtype(b), ErrorKind::Type, function, "(): argument '", second,
        "' (position 2) must be torch.dtype, not ", Py_TYPE(b)->tp_name);
}
PyObject* promote_types(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *b;
    read_dtypes("promote_types", args, "type1", "type2", a, b);
    return wrap_dtype(promote(dtype_of(a), dtype_of(b)));
  });
}
PyObject* can_cast_(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *b;
    read_dtypes("can_cast", args, "from_", "to", a, b);
    return py_bool(can_cast(dtype_of(a), dtype_of(b)));
  });
}
[[noreturn]] void refuse_result_type(PyObject* args) {
  constexpr struct { const char* text; bool tensors[2]; } kForms[] = {
      {"Tensor tensor, Tensor other", {true, true}}, {"Number scalar, Tensor tensor", {false, true}},
      {"Tensor tensor, Number other", {true, false}}, {"Number scalar1, Number scalar2", {}}};
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  const auto type_of_arg = [&](Py_ssize_t i) {
    PyObject* o = PyTuple_GET_ITEM(args, i);
    return std::string(is_tensor(o) ? "Tensor" : Py_TYPE(o)->tp_name);
  };
  std::string s = "result_type() received an invalid combination of arguments - got (";
  for (Py_ssize_t i = 0; i < n; ++i) s += (i ? ", " : "") + type_of_arg(i);
  s += "), but expected one of:\n";
  for (const auto& form : kForms) {
    s += std::string(" * (") + form.text + ")\n";
    if (n != 2) continue;
    s += "      didn't match because some of the arguments have invalid types: (";
    for (int i = 0; i < 2; ++i) {
      PyObject* o = PyTuple_GET_ITEM(args, i);
      Scalar number;
      const bool good = form.tensors[i] ? is_tensor(o) : !is_tensor(o) && read_scalar(o, number);
      s += std::string(i ? ", " : "") + (good ? "" : "!") + type_of_arg(i) + (good ? "" : "!");
    }
    s += ")\n";
  }
  fail(ErrorKind::Type, s);
}
PyObject* result_type_(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    if (PyTuple_GET_SIZE(args) != 2) refuse_result_type(args);
    Promotion p;
    for (int i = 0; i < 2; ++i) {
      PyObject* o = PyTuple_GET_ITEM(args, i);
      Scalar s;
      if (is_tensor(o)) p.add(tensor_of(o));
      else if (read_scalar(o, s)) p.add(s);
      else refuse_result_type(args);
    }
    return wrap_dtype(p.dtype());
  });
}

// ---- Generators

PyObject* wrap_generator(Generator* g, bool own) {
  auto* o = reinterpret_cast<GeneratorObject*>(generator_type->tp_alloc(generator_type, 0));
  if (!o) return nullptr;
  o->generator = g;
  o->own = own;
  return reinterpret_cast<PyObject*>(o);
}
Generator& generator_of(PyObject* o) { return *reinterpret_cast<GeneratorObject*>(o)->generator; }
PyObject* generator_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* device = nullptr;
    static const char* names[] = {"device", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device));
    Device d;
    if (device && device != Py_None) read_device(device, d);
    check(d.is_cpu(), "Device type ", name_of(d.type), " is not supported for torch.Generator() api.");
    return wrap_generator(new Generator, true);
  });
}
void generator_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  auto* self = reinterpret_cast<GeneratorObject*>(o);
  if (self->own) delete self->generator;
  Py_XDECREF(self->dict);
  type->tp_free(o);
  Py_DECREF(type);
}
PyObject* manual_seed(PyObject* o, PyObject* seed) {
  return guarded([&]() -> PyObject* {
    int over = 0;
    const long long v = PyLong_AsLongLongAndOverflow(seed, &over);
    need(!(v == -1 && PyErr_Occurred()));
    uint64_t s = uint64_t(v);
    if (over) {
      s = over > 0 ? PyLong_AsUnsignedLongLong(seed) : 0;
      if (over < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        fail(ErrorKind::Runtime, "Overflow when unpacking long long");
      }
    }
    std::lock_guard<std::mutex> hold(generator_of(o).mutex());
    generator_of(o).manual_seed(s);
    Py_INCREF(o);
    return o;
  });
}
PyObject* initial_seed(PyObject* o, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_of(o).initial_seed());
}
PyObject* new_seed(PyObject* o, PyObject*) {
  std::lock_guard<std::mutex> hold(generator_of(o).mutex());
  return PyLong_FromUnsignedLongLong(generator_of(o).seed());
}
PyObject* get_state(PyObject* o, PyObject*) {
  return guarded([&] {
    Tensor t = empty({int64_t(Generator::kStateSize)}, DType::UInt8);
    {
      std::lock_guard<std::mutex> hold(generator_of(o).mutex());
      generator_of(o).get_state(t.data());
    }
    return wrap(std::move(t));
  });
}
PyObject* set_state(PyObject* o, PyObject* state) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(state), ErrorKind::Type, "expected a torch.ByteTensor, but got ",
          Py_TYPE(state)->tp_name);
    const Tensor& t = tensor_of(state);
    check(t.dtype() == DType::UInt8 && t.device().is_cpu(), ErrorKind::Type,
          "RNG state must be a torch.ByteTensor");
    check(t.numel() == int64_t(Generator::kStateSize) && t.is_contiguous(),
          "Expected a CPUGeneratorImplState of size ", int64_t(Generator::kStateSize),
          " but found the input RNG state size to be ", t.numel());
    std::lock_guard<std::mutex> hold(generator_of(o).mutex());
    check(generator_of(o).set_state(t.data()), "Invalid mt19937 state");
    Py_INCREF(o);
    return o;
  });
}
PyObject* clone_state(PyObject* o, PyObject*) {
  return guarded([&] { return wrap_generator(new Generator(generator_of(o)), true); });
}
PyObject* generator_device(PyObject*, void*) { return wrap_device({}); }
PyObject* generator_reduce(PyObject* o, PyObject*) {
  const Owned seed(initial_seed(o, nullptr)), state(get_state(o, nullptr));
  if (!seed || !state) return nullptr;
  return Py_BuildValue("O(N)(OOO)", Py_TYPE(o), wrap_device({}), seed.get(), Py_None, state.get());
}
PyObject* generator_setstate(PyObject* o, PyObject* args) {
  PyObject *seed, *offset, *state;  // the offset is that of other devices' generators
  if (!PyTuple_Check(args)) return PyErr_Format(PyExc_TypeError, "expected a tuple");
  if (!PyArg_ParseTuple(args, "OOO", &seed, &offset, &state)) return nullptr;
  const Owned seeded(manual_seed(o, seed));
  const Owned set(seeded ? set_state(o, state) : nullptr);
  return set ? none() : nullptr;
}
PyMethodDef generator_methods[] = {
    {"__reduce__", generator_reduce, METH_NOARGS, nullptr},
    {"__setstate__", generator_setstate, METH_O, nullptr},
    {"manual_seed", manual_seed, METH_O, nullptr},
    {"initial_seed", initial_seed, METH_NOARGS, nullptr},
    {"seed", new_seed, METH_NOARGS, nullptr},
    {"get_state", get_state, METH_NOARGS, nullptr},
    {"set_state", set_state, METH_O, nullptr},
    {"graphsafe_get_state", clone_state, METH_NOARGS, nullptr},
    {"clone_state", clone_state, METH_NOARGS, nullptr},
    {}};
PyGetSetDef generator_properties[] = {{"device", generator_device, nullptr, nullptr, nullptr}, {}};
PyMemberDef generator_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(GeneratorObject, dict), READONLY, nullptr}, {}};

// ---- Memory

PyObject* memory(PyObject*, PyObject*) {
  const MemoryStats s = memory_stats();
  return Py_BuildValue("{sLsLsLsLsL}", "allocated", s.allocated, "peak", s.peak, "reserved",
                       s.reserved, "allocations", s.allocations, "releases", s.releases);
}
PyObject* reset_peak(PyObject*, PyObject*) {
  reset_peak_memory();
  return none();
}
PyObject* give_back(PyObject*, PyObject*) {
  empty_cache();
  return none();
}
PyObject* get_cache_limit(PyObject*, PyObject*) { return PyLong_FromLongLong(cache_limit()); }
PyObject* give_cache_limit(PyObject*, PyObject* bytes) {
  const long long n = PyLong_AsLongLong(bytes);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  set_cache_limit(n);
  return none();
}

// ---- The op table

const char* kind_name(Kind k) {
  constexpr const char* names[] = {"pointwise", "kernel", "produce", "view", "effect", "factory",
                                   "composite"};
  return names[int(k)];
}
const char* place_of(const Record& r) {
  return r.forms & NN ? "nn" : r.forms & Linalg ? "linalg" : r.forms & Special ? "special"
       : r.forms & FFT ? "fft" : r.forms & Hidden ? "hidden" : "";
}

PyObject* describe(const Record& r) {
  Owned forms(need(PyList_New(0))), params(need(PyList_New(0))), aliases(need(PyList_New(0)));
  constexpr struct { uint32_t bit; const char* name; } kForms[] = {
      {Function | NN | Linalg | Special | FFT | Hidden, "function"}, {Method, "method"},
      {Inplace, "inplace"}, {Out, "out"}};
  for (const auto& f : kForms)
    if (r.forms & f.bit) {
      need(PyList_Append(forms.get(), Owned(PyUnicode_FromString(f.name)).get()) == 0);
    }
  for (const Param& p : r.params) {
    const char* stands_in = p.number ? "number" : "";
    const char* fallback = p.has_default ? p.default_text.c_str() : nullptr;
    Owned row(need(Py_BuildValue("[ssz]", p.name.c_str(), stands_in, fallback)));
    need(PyList_Append(params.get(), row.get()) == 0);
  }
  for (const std::string& a : r.aliases)
    need(PyList_Append(aliases.get(), Owned(PyUnicode_FromString(a.c_str())).get()) == 0);
  return Py_BuildValue("{sssssOsssssOsOsOssss}", "name", r.name.c_str(), "python", r.base.c_str(),
                       "forms", forms.get(), "namespace", place_of(r), "kind", kind_name(r.kind),
                       "params", params.get(), "alias", aliases.get(), "differentiable",
                       r.differentiable() ? Py_True : Py_False, "signature", r.signature.c_str(),
                       "doc", r.doc.c_str());
}

PyObject* op_table(PyObject*, PyObject*) {
  return guarded([&] {
    Owned list(need(PyList_New(0)));
    for (const Record& r : registry()) {
      Owned row(need(describe(r)));
      need(PyList_Append(list.get(), row.get()) == 0);
    }
    return list.leave();
  });
}

// _boxed_call(name, *args): the call that generic machinery uses.
PyObject* boxed_call(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    check(PyTuple_GET_SIZE(args) > 0 && PyUnicode_Check(PyTuple_GET_ITEM(args, 0)), ErrorKind::Type,
          "the first argument names a record");
    const Record* r = find_record(utf8_of(PyTuple_GET_ITEM(args, 0)));
    check(r, ErrorKind::Value, "no record has this name");
    Arg values[kMostParams];
    LazyRoom room;
    std::string why;
    Call call{&PyTuple_GET_ITEM(args, 1), PyTuple_GET_SIZE(args) - 1, nullptr, false};
    check(read_call(*r, call, values, room, &why), ErrorKind::Type, why);
    Value out[8];
    invoke(*r, values, out);
    return wrap_results(*r, out);
  });
}

// _replay(name, outs, *args): fills given results by the record's run stage.
PyObject* replay(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    check(PyTuple_GET_SIZE(args) > 1 && PyUnicode_Check(PyTuple_GET_ITEM(args, 0)), ErrorKind::Type,
          "the first argument names a record");
    const Record* r = find_record(utf8_of(PyTuple_GET_ITEM(args, 0)));
    check(r && (r->kind == Kind::Pointwise || r->kind == Kind::Kernel || r->kind == Kind::Factory),
          ErrorKind::Value, "no record that fills results has this name");
    Arg values[kMostParams];
    LazyRoom room;
    std::string why;
    Call call{&PyTuple_GET_ITEM(args, 2), PyTuple_GET_SIZE(args) - 2, nullptr, false};
    check(read_call(*r, call, values, room, &why), ErrorKind::Type, why);
    Owned outs(need(PySequence_Tuple(PyTuple_GET_ITEM(args, 1))));
    Tensor results[8];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outs.get()) && i < 8; ++i) {
      PyObject* o = PyTuple_GET_ITEM(outs.get(), i);
      if (is_tensor(o)) results[i] = tensor_of(o);
    }
    run(*r, results, values);
    return none();
  });
}

PyObject* set_parameter_type(PyObject*, PyObject* type) {
  return guarded([&] {
    check(PyType_Check(type), ErrorKind::Type, "expected a class");
    Py_INCREF(type);
    parameter_type = reinterpret_cast<PyTypeObject*>(type);
    return none();
  });
}

}  // namespace

PyObject* set_subclass_overrides(PyObject*, PyObject* on);
PyObject* set_function_mode(PyObject*, PyObject* on);
PyObject* function_modes(PyObject*, PyObject*);
PyObject* call_mode(PyObject*, PyObject* args);
PyObject* asked_method(PyObject*, PyObject* function);
PyObject* has_torch_function(PyObject*, PyObject* const* args, Py_ssize_t count);

namespace {
PyMethodDef functions[] = {
    {"get_num_threads", get_threads, METH_NOARGS, "Threads that work on one op."},
    {"set_num_threads", set_threads, METH_O, "Sets the threads that work on one op."},
    {"get_default_dtype", get_default, METH_NOARGS, nullptr},
    {"set_default_dtype", set_default, METH_O, nullptr},
    {"promote_types", promote_types, METH_VARARGS, nullptr},
    {"can_cast", can_cast_, METH_VARARGS, nullptr},
    {"result_type", result_type_, METH_VARARGS, nullptr},
    {"_all_signals_stop_kernels", stop_kernels, METH_O,
     "Whether handlers of all signals run within kernels: those that are set must only raise."},
    {"_memory_stats", memory, METH_NOARGS, nullptr},
    {"_reset_peak_memory", reset_peak, METH_NOARGS, nullptr},
    {"_empty_cache", give_back, METH_NOARGS, nullptr},
    {"_cache_limit", get_cache_limit, METH_NOARGS, nullptr},
    {"_set_cache_limit", give_cache_limit, METH_O, nullptr},
    {"op_table", op_table, METH_NOARGS, "All op records, as dicts."},
    {"_boxed_call", boxed_call, METH_VARARGS, nullptr},
    {"_return_type", return_type, METH_O, nullptr},
    {"_replay", replay, METH_VARARGS, nullptr},
    {"_set_parameter_type", set_parameter_type, METH_O, nullptr},
    {"_set_subclass_overrides", set_subclass_overrides, METH_O, nullptr},
    {"_set_function_mode", set_function_mode, METH_O, nullptr},
    {"_function_modes", function_modes, METH_NOARGS, nullptr},
    {"_asked_method", asked_method, METH_O, nullptr},
    {"_call_mode", call_mode, METH_VARARGS, nullptr},
    {"_has_torch_function_variadic",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(has_torch_function)),
     METH_FASTCALL, nullptr},
    {}};
}

int add_runtime(PyObject* module) {
  warn_hook = warn_python;
  lock_hooks = {release_lock, acquire_lock};
  const Owned signals(PyImport_ImportModule("_signal"));
  if (!signals) return -1;
  handler_of = PyObject_GetAttrString(signals.get(), "getsignal");
  plain_handler = PyObject_GetAttrString(signals.get(), "default_int_handler");
  if (!handler_of || !plain_handler) return -1;
  signalled();
  interrupt_hook = signalled;
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
                         {Py_tp_new, reinterpret_cast<void*>(generator_new)},
                         {Py_tp_methods, generator_methods},
                         {Py_tp_getset, generator_properties},
                         {Py_tp_members, generator_members},
                         {0, nullptr}};
  PyType_Spec spec = {"torch._C.Generator", sizeof(GeneratorObject), 0, Py_TPFLAGS_DEFAULT, slots};
  generator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!generator_type) return -1;
  Owned fallback(wrap_generator(&default_generator(), false));
  if (!fallback) return -1;
  return PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(generator_type)) |
         PyModule_AddObjectRef(module, "default_generator", fallback.get()) |
         PyModule_AddFunctions(module, functions);
}

}  // namespace rl::bind
