// A Module's call with hooks: PyTorch's order of pre-hooks, forward, hooks and backward hooks.
#include <utility>

#include "bind/module_state.h"
#include "bind/tensor.h"

namespace rl::bind::nn {
namespace {

// One call on its way; args and kwargs are what the hooks so far have made of them.
struct HookedCall {
  PyObject* self;
  Owned forward, args, kwargs, result;
  Owned called = Owned(PySet_New(nullptr));  // ids of the always-called hooks that ran

  bool run();
  bool run_after_failure();

 private:
  bool run_pre_hooks(PyObject* items);
  bool run_forward();
  bool run_forward_hooks(PyObject* items);
  Owned backward_hook(PyObject* full, PyObject* pre);
  bool finish_backward_hook(PyObject* hook);
  bool hook_grad_fn(PyObject* non_full);
  bool run_always_called(PyObject* hooks, bool global);
};

Owned attribute(PyObject* self, Name name) { return Owned(PyObject_GetAttr(self, names[name])); }

// A list of the items (or values) of the common hooks, then of this module's: hooks may add and
// remove hooks while these run.
Owned snapshot(PyObject* global, PyObject* own, bool items) {
  const auto list = items ? [](PyObject* d) { return PyMapping_Items(d); }
                          : [](PyObject* d) { return PyMapping_Values(d); };
  if (own && !filled(own)) own = nullptr;
  Owned all(global && filled(global) ? list(global) : PyList_New(0));
  Owned more(all && own ? list(own) : nullptr);
  if (!all || (own && !more)) return Owned();
  const Py_ssize_t end = PyList_GET_SIZE(all.get());
  if (more && PyList_SetSlice(all.get(), end, end, more.get()) < 0) return Owned();
  return all;
}

Owned snapshot_of(PyObject* self, PyObject* global, Name own_name, bool items) {
  Owned own = attribute(self, own_name);
  return own ? snapshot(global, own.get(), items) : Owned();
}

// Is the hook's id among those in self.<name>, or in `global`? 1, 0, or -1 with an exception.
int listed(PyObject* self, Name name, PyObject* global, PyObject* id) {
  Owned own = attribute(self, name);
  if (!own) return -1;
  const int found = contains(own.get(), id);
  return found || !global ? found : contains(global, id);
}

bool HookedCall::run_pre_hooks(PyObject* items) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); ++i) {
    PyObject* id = PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0);
    PyObject* hook = PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 1);
    const int with_kwargs = listed(self, kForwardPreHooksWithKwargs, nullptr, id);
    if (with_kwargs < 0) return false;
    Owned changed(with_kwargs
                      ? PyObject_CallFunctionObjArgs(hook, self, args.get(), kwargs.get(), nullptr)
                      : PyObject_CallFunctionObjArgs(hook, self, args.get(), nullptr));
    if (!changed) return false;
    if (changed.get() == Py_None) continue;
    if (!with_kwargs) {
      args = PyTuple_Check(changed.get()) ? std::move(changed)
                                          : Owned(PyTuple_Pack(1, changed.get()));
      if (!args) return false;
      continue;
    }
    if (!PyTuple_Check(changed.get()) || PyTuple_GET_SIZE(changed.get()) != 2) {
      PyErr_Format(PyExc_RuntimeError,
                   "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                   "but got %S.",
                   changed.get());
      return false;
    }
    args = Owned::share(PyTuple_GET_ITEM(changed.get(), 0));
    kwargs = Owned::share(PyTuple_GET_ITEM(changed.get(), 1));
  }
  return true;
}

bool HookedCall::run_forward() {
  Owned tuple = PyTuple_CheckExact(args.get()) ? Owned::share(args.get())
                                               : Owned(PySequence_Tuple(args.get()));
  if (!tuple) return false;
  Owned dict = PyDict_CheckExact(kwargs.get()) ? Owned::share(kwargs.get()) : Owned(PyDict_New());
  if (!dict) return false;
  if (dict.get() != kwargs.get() && PyDict_Update(dict.get(), kwargs.get()) < 0) return false;
  result = Owned(PyObject_Call(forward.get(), tuple.get(), dict.get()));
  if (result) return true;
  result = Owned::share(Py_None);  // what always-called hooks are given
  return false;
}

bool HookedCall::run_forward_hooks(PyObject* items) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); ++i) {
    PyObject* id = PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0);
    PyObject* hook = PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 1);
    const int always = listed(self, kForwardHooksAlwaysCalled, globals.forward_always_called, id);
    if (always < 0 || (always && PySet_Add(called.get(), id) < 0)) return false;
    const int with_kwargs = listed(self, kForwardHooksWithKwargs, globals.forward_with_kwargs, id);
    if (with_kwargs < 0) return false;
    Owned changed(with_kwargs ? PyObject_CallFunctionObjArgs(hook, self, args.get(), kwargs.get(),
                                                             result.get(), nullptr)
                              : PyObject_CallFunctionObjArgs(hook, self, args.get(), result.get(),
                                                             nullptr));
    if (!changed) return false;
    if (changed.get() != Py_None) result = std::move(changed);
  }
  return true;
}

// Sets up the object that calls full backward hooks and pre-hooks, and passes the inputs by it.
Owned HookedCall::backward_hook(PyObject* full, PyObject* pre) {
  PyObject* type = global_name("BackwardHook");
  if (!type) return Owned();
  Owned hook(PyObject_CallFunctionObjArgs(type, self, full, pre, nullptr));
  if (!hook) return Owned();
  Owned changed(PyObject_CallMethod(hook.get(), "setup_input_hook", "(O)", args.get()));
  if (!changed) return Owned();
  args = std::move(changed);
  return hook;
}

bool HookedCall::finish_backward_hook(PyObject* hook) {
  if (!is_tensor(result.get()) && !PyTuple_Check(result.get()) &&
      PyErr_WarnFormat(PyExc_UserWarning, 1,
                       "For backward hooks to be called, module output should be a Tensor or a "
                       "tuple of Tensors but received %S",
                       Py_TYPE(result.get())) < 0) {
    return false;
  }
  Owned changed(PyObject_CallMethod(hook, "setup_output_hook", "(O)", result.get()));
  if (!changed) return false;
  result = std::move(changed);
  return true;
}

// The first tensor of a nested output, as legacy backward hooks choose it.
Owned first_tensor(PyObject* output) {
  Owned value = Owned::share(output);
  while (value && !is_tensor(value.get())) {
    Owned next;
    if (PyDict_Check(value.get())) {
      Owned values(PyMapping_Values(value.get()));
      if (!values) return Owned();
      for (Py_ssize_t i = 0; !next && i < PyList_GET_SIZE(values.get()); ++i) {
        PyObject* candidate = PyList_GET_ITEM(values.get(), i);
        if (is_tensor(candidate)) next = Owned::share(candidate);
      }
      if (!next) PyErr_SetNone(PyExc_StopIteration);
    } else {
      Owned zero(PyLong_FromLong(0));
      next = Owned(zero ? PyObject_GetItem(value.get(), zero.get()) : nullptr);
      if (next.get() == value.get() && next) {  // a string of one letter holds itself
        PyErr_Format(PyExc_TypeError, "no Tensor in module output of type %R", Py_TYPE(output));
        return Owned();
      }
    }
    value = std::move(next);
  }
  return value;
}

// Legacy (non-full) backward hooks hang on the node that made the output.
bool HookedCall::hook_grad_fn(PyObject* non_full) {
  Owned tensor = first_tensor(result.get());
  Owned node = tensor ? attribute(tensor.get(), kGradFn) : Owned();
  if (!node) return false;
  if (node.get() == Py_None) return true;
  PyObject* wrapper = global_name("_WrappedHook");
  if (!wrapper) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(non_full); ++i) {
    Owned hook(PyObject_CallFunctionObjArgs(wrapper, PyList_GET_ITEM(non_full, i), self, nullptr));
    if (!hook || !Owned(PyObject_CallMethod(node.get(), "register_hook", "(O)", hook.get()))) {
      return false;
    }
  }
  return static_cast<bool>(Owned(PyObject_CallMethod(self, "_maybe_warn_non_full_backward_hook",
                                                     "OOO", args.get(), result.get(),
                                                     node.get())));
}

// The backward hooks that apply: all when `full` is what the common and this module's hooks are.
Owned backward_hooks(PyObject* self, bool full) {
  PyObject* wanted = full ? Py_True : Py_False;
  PyObject* global = globals.space
                         ? PyDict_GetItemString(globals.space, "_global_is_full_backward_hook")
                         : nullptr;
  Owned is_full = attribute(self, kIsFullBackwardHook);
  Owned own = is_full ? attribute(self, kBackwardHooks) : Owned();
  if (!own) return Owned();
  return snapshot(global == wanted ? globals.backward : nullptr,
                  is_full.get() == wanted ? own.get() : nullptr, false);
}

bool HookedCall::run() {
  Owned pre = snapshot_of(self, globals.backward_pre, kBackwardPreHooks, false);
  Owned full = pre ? backward_hooks(self, true) : Owned();
  Owned non_full = full ? backward_hooks(self, false) : Owned();
  Owned items = non_full ? snapshot_of(self, globals.forward_pre, kForwardPreHooks, true) : Owned();
  if (!items || !run_pre_hooks(items.get())) return false;

  Owned hook;
  if (PyList_GET_SIZE(full.get()) || PyList_GET_SIZE(pre.get())) {
    hook = backward_hook(full.get(), pre.get());
    if (!hook) return false;
  }
  if (!run_forward()) return false;
  items = snapshot_of(self, globals.forward, kForwardHooks, true);
  if (!items || !run_forward_hooks(items.get())) return false;
  if (hook && !finish_backward_hook(hook.get())) return false;
  return PyList_GET_SIZE(non_full.get()) == 0 || hook_grad_fn(non_full.get());
}

// Runs the always-called hooks among `hooks` that have not run; their failures become warnings.
bool HookedCall::run_always_called(PyObject* hooks, bool global) {
  Owned items(hooks ? PyMapping_Items(hooks) : PyList_New(0));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* id = PyTuple_GET_ITEM(PyList_GET_ITEM(items.get(), i), 0);
    PyObject* hook = PyTuple_GET_ITEM(PyList_GET_ITEM(items.get(), i), 1);
    const int always = global ? contains(globals.forward_always_called, id)
                              : listed(self, kForwardHooksAlwaysCalled, nullptr, id);
    if (always < 0) return false;
    if (!always || PySet_Contains(called.get(), id) == 1) continue;
    const int with_kwargs =
        global ? 0 : listed(self, kForwardHooksWithKwargs, nullptr, id);
    if (with_kwargs < 0) return false;
    Owned changed(with_kwargs ? PyObject_CallFunctionObjArgs(hook, self, args.get(), kwargs.get(),
                                                             result.get(), nullptr)
                              : PyObject_CallFunctionObjArgs(hook, self, args.get(), result.get(),
                                                             nullptr));
    if (changed) {
      if (changed.get() != Py_None) result = std::move(changed);
      continue;
    }
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
    Owned error = take_exception();
    if (PyErr_WarnFormat(PyExc_UserWarning, 1,
                         "%smodule forward hook with ``always_call=True`` raised an exception "
                         "that was silenced as another error was raised in forward: %S",
                         global ? "global " : "", error.get()) < 0) {
      return false;
    }
  }
  return true;
}

// After an exception: always-called hooks run while it is being handled, then it goes on. Where
// there are none, nothing is handled: at the limit of the stack that would be an error of its own.
bool HookedCall::run_after_failure() {
  Owned error = take_exception();
  Owned always = attribute(self, kForwardHooksAlwaysCalled);
  if (always && !filled(always.get()) && !filled(globals.forward_always_called)) {
    raise_again(std::move(error));
    return false;
  }
  Owned outer(PyErr_GetHandledException());
  PyErr_SetHandledException(error.get());
  Owned own = attribute(self, kForwardHooks);
  const bool done = own && run_always_called(globals.forward, true) &&
                    run_always_called(own.get(), false);
  PyErr_SetHandledException(outer.get());
  if (done) raise_again(std::move(error));
  return false;
}

}  // namespace

PyObject* call_hooked(PyObject* self, PyObject* args, PyObject* kwargs) {
  HookedCall call{self, attribute(self, kForward), Owned::share(args), Owned::share(kwargs),
                  Owned::share(Py_None)};
  if (!call.forward || !call.called) return nullptr;
  if (call.run()) return call.result.leave();
  if (PyErr_ExceptionMatches(PyExc_Exception)) call.run_after_failure();
  return nullptr;
}

}  // namespace rl::bind::nn
