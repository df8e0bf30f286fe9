// Anomaly mode and saved_tensors_hooks as Python sees them.
#include "autograd/anomaly.h"

#include "bind/autograd.h"

namespace rl::bind {
namespace {

// ---- Traces: the text of Python's stack

void* take_trace() {
  if (!Py_IsInitialized()) return nullptr;
  WithLock lock;
  Owned module(need(PyImport_ImportModule("rushlight.autograd.anomaly_mode")));
  return need(PyObject_CallMethod(module.get(), "_stack_text", nullptr));
}

void drop_trace(void* trace) {
  if (!Py_IsInitialized()) return;
  WithLock lock;
  Py_DECREF(static_cast<PyObject*>(trace));
}

std::string trace_of(const Node& node) {
  const char* s = PyUnicode_AsUTF8(static_cast<PyObject*>(node.anomaly_trace));
  return s ? s : "";
}

void report(const Node& failed) {
  WithLock lock;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  std::string s = text("Error detected in ", failed.name(), ". ");
  if (failed.anomaly_trace) {
    s += "Traceback of forward call that caused the error:\n" + trace_of(failed);
  } else {
    s += "No forward pass information available. Enable detect anomaly during forward pass for "
         "more information.";
  }
  for (const Node* n = failed.anomaly_parent.get(); n; n = n->anomaly_parent.get()) {
    s += text("\n\nPrevious calculation was induced by ", n->name(), ". ");
    s += n->anomaly_trace ? "Traceback of forward call that induced the previous calculation:\n" +
                                trace_of(*n)
                          : "No forward pass information available. Enable detect anomaly during "
                            "forward pass for more information.";
  }
  if (PyErr_WarnEx(PyExc_UserWarning, s.c_str(), 1) < 0) PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

PyObject* set_check_nan(PyObject*, PyObject* on) {
  const bool before = anomaly_checks_nan;
  anomaly_checks_nan = PyObject_IsTrue(on) == 1;
  return py_bool(before);
}
PyObject* get_check_nan(PyObject*, PyObject*) { return py_bool(anomaly_checks_nan); }

// ---- saved_tensors_hooks: a stack of pairs on each thread

struct Pair { Owned pack, unpack; };
thread_local std::vector<Pair> hooks;
thread_local std::string disabled;

class PackedByHook : public Saved::Packed {
 public:
  PackedByHook(PyObject* packed, const Owned& unpack) : packed_(packed), unpack_(unpack) {}
  ~PackedByHook() override {
    if (!Py_IsInitialized()) {
      packed_.leave();
      unpack_.leave();
      return;
    }
    WithLock lock;
    packed_ = Owned();
    unpack_ = Owned();
  }
  Tensor unpack() override {
    WithLock lock;
    NoGrad quiet;
    Owned made(need(PyObject_CallOneArg(unpack_.get(), packed_.get())));
    check(is_tensor(made.get()), ErrorKind::Type,
          "Output of saved tensor unpack_hook expected to be "
          "a Tensor but got result of type ",
          Py_TYPE(made.get())->tp_name);
    return tensor_of(made.get());
  }

 private:
  Owned packed_, unpack_;
};

std::shared_ptr<Saved::Packed> pack(const Tensor& t) {
  if (hooks.empty()) return nullptr;
  WithLock lock;
  const Pair pair = hooks.back();
  const uint32_t version = t.version().count.load();
  Owned arg(need(wrap(t)));
  PyObject* packed = need(PyObject_CallOneArg(pair.pack.get(), arg.get()));
  auto kept = std::make_shared<PackedByHook>(packed, pair.unpack);
  check(t.version().count.load() == version, "A saved tensor pack hook is modifying its input in "
        "place. Tensors provided as input to pack hook can not be modified by in-place operations "
        "as this can lead to unexpected side-effects. Please open an issue if you need to perform "
        "in-place operations on the input to a pack hook.");
  return kept;
}

void show_in_modes() {
  modes_word = hooks.empty() ? modes_word & ~kSavedHooks : modes_word | kSavedHooks;
}

PyObject* push_hooks(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *pack_hook, *unpack_hook;
    need(PyArg_ParseTuple(args, "OO", &pack_hook, &unpack_hook));
    check(disabled.empty(), disabled);
    hooks.push_back({Owned::share(pack_hook), Owned::share(unpack_hook)});
    show_in_modes();
    return none();
  });
}
PyObject* pop_hooks(PyObject*, PyObject*) {
  return guarded([&] {
    check(!hooks.empty(), "no saved tensor hooks are installed");
    hooks.pop_back();
    show_in_modes();
    return none();
  });
}
// Forbids hooks with this message; None allows them. Returns the message before.
PyObject* disable_hooks(PyObject*, PyObject* message) {
  return guarded([&]() -> PyObject* {
    Owned before(disabled.empty() ? none() : PyUnicode_FromString(disabled.c_str()));
    if (message == Py_None) {
      disabled.clear();
    } else {
      check(hooks.empty(), utf8_of(message));
      disabled = utf8_of(message);
    }
    return before.leave();
  });
}

PyMethodDef functions[] = {
    {"_set_anomaly_check_nan", set_check_nan, METH_O, nullptr},
    {"is_anomaly_check_nan_enabled", get_check_nan, METH_NOARGS, nullptr},
    {"_push_saved_tensors_hooks", push_hooks, METH_VARARGS, nullptr},
    {"_pop_saved_tensors_hooks", pop_hooks, METH_NOARGS, nullptr},
    {"_disable_saved_tensors_hooks", disable_hooks, METH_O, nullptr},
    {}};

}  // namespace

int add_anomaly(PyObject* module) {
  anomaly_hooks = {take_trace, report};
  node_owner_hooks.drop_trace = drop_trace;
  pack_saved = pack;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace rl::bind
