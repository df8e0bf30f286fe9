// Levels of function transforms for rushlight.func: entering, wrapping, unwrapping, looking.
#include "bind/transform.h"
#include "autograd/transforms.h"

#include <unordered_set>

#include "autograd/meta.h"
#include "bind/autograd.h"
#include "bind/types.h"
#include "ops/op_node.h"
#include "ops/transform.h"

namespace rl::bind {
namespace {

constinit thread_local int transforms = 0;     // that run on this thread, gradients included

const Tensor& tensor_arg(PyObject* o) {
  check(is_tensor(o), ErrorKind::Type, "expected a Tensor, not ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

// _enter_vmap(size, randomness), _enter_forward(open): a level's number.
PyObject* enter_vmap(PyObject*, PyObject* args) {
  return guarded([&] {
    long long size;
    const char* randomness;
    need(PyArg_ParseTuple(args, "Ls", &size, &randomness));
    TransformLevel level;
    level.size = size;
    level.randomness = *randomness == 'd' ? Randomness::Different
                     : *randomness == 's' ? Randomness::Same : Randomness::Error;
    return PyLong_FromLong(push_level(level));
  });
}
PyObject* enter_forward(PyObject*, PyObject* open) {
  return guarded([&] {
    TransformLevel level;
    level.forward = true;
    level.open = PyObject_IsTrue(open) == 1;
    return PyLong_FromLong(push_level(level));
  });
}
PyObject* leave_level(PyObject*, PyObject*) {
  pop_level();
  Py_RETURN_NONE;
}
PyObject* current(PyObject*, PyObject*) { return PyLong_FromLong(current_level()); }

// _count_transforms(by): how many run now.
PyObject* count_transforms(PyObject*, PyObject* by) {
  const long n = PyLong_AsLong(by);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromLong(transforms += int(n));
}

// _count_in_inference(by): how many of them began within inference mode.
PyObject* count_in_inference(PyObject*, PyObject* by) {
  const long n = PyLong_AsLong(by);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromLong(transforms_in_inference += int(n));
}

// _wrap_batched(value, level): its dimension 0 is mapped.
PyObject* wrap_batched_(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    int level;
    need(PyArg_ParseTuple(args, "Oi", &o, &level));
    return wrap(wrap_batched(tensor_arg(o), level_at(level)));
  });
}
PyObject* wrap_dual_(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *primal, *tangent;
    int level;
    need(PyArg_ParseTuple(args, "OOi", &primal, &tangent, &level));
    const Tensor& t = tensor_arg(primal);
    const Tensor dual = wrap_dual(t, tangent == Py_None ? Tensor() : tensor_arg(tangent),
                                  level_at(level));
    if (level_at(level).open && requires_grad(t) && grad_enabled()) {  // part of the same graph
      const Arg arg(t);
      (new OpNode(ops::alias_op.record(), &arg, &arg))->attach(&dual, 1);
    }
    return wrap(dual);
  });
}

// _unwrap(tensor, level): (value, batched, tangent), or None for a tensor of another level.
PyObject* unwrap_(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* o;
    int level;
    need(PyArg_ParseTuple(args, "Oi", &o, &level));
    const Wrapper* w = wrapper_of(tensor_arg(o));
    if (!w || w->serial != level_at(level).serial) Py_RETURN_NONE;
    return Py_BuildValue("NON", need(wrap(w->value)), w->batched ? Py_True : Py_False,
                         need(wrap(w->tangent)));
  });
}
// _wrapper(tensor): (level, dual, batched, value, tangent), for printing; None for a plain one.
PyObject* wrapper_(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_arg(o);
    const Wrapper* w = wrapper_of(t);
    if (!w) Py_RETURN_NONE;
    return Py_BuildValue("iOONN", level_of(t), t->is(kDual) ? Py_True : Py_False,
                         w->batched ? Py_True : Py_False, need(wrap(w->value)),
                         need(wrap(w->tangent)));
  });
}

// _grad_input(tensor): one that gradients inside of the current levels are taken for.
PyObject* grad_input(PyObject*, PyObject* o) {
  return guarded([&] {
    const Tensor& t = tensor_arg(o);
    check(is_differentiable(t.dtype()),
          "only Tensors of floating point dtype can require gradients");
    const int top = current_level();
    if (level_of(t) == top && requires_grad(t) && grad_enabled()) return wrap(ops::alias_op(t));
    Tensor own;
    if (level_of(t) == top) own = detached(t);
    else if (level_at(top).forward) own = wrap_dual(t, Tensor(), level_at(top));
    else own = wrap_batched(t, level_at(top), false);
    own->flags &= ~kInferenceTensor;
    set_requires_grad(own, true);
    return wrap(own);
  });
}

std::vector<Tensor> tensors_of(PyObject* tuple) {
  std::vector<Tensor> list;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple, i);
    if (is_tensor(o)) list.push_back(tensor_of(o));
  }
  return list;
}

// Whether the graph of `t` comes to another leaf than the given ones.
bool reaches_others(const Tensor& t, const std::vector<Tensor>& leaves) {
  std::unordered_set<Node*> seen;
  std::vector<Node*> todo;
  const Edge edge = gradient_edge(t);
  if (edge) {
    seen.insert(edge.node.get());
    todo.push_back(edge.node.get());
  }
  while (!todo.empty()) {
    Node* n = todo.back();
    todo.pop_back();
    if (n->is_accumulate()) {
      const Tensor& leaf = static_cast<AccumulateGrad*>(n)->variable;
      bool own = false;
      for (const Tensor& l : leaves) own |= l.same(leaf);
      if (!own) return true;
    }
    for (const Edge& e : n->next)
      if (e && seen.insert(e.node.get()).second) todo.push_back(e.node.get());
  }
  return false;
}

// _depends_outside(outputs, leaves): whether gradients of the outputs are part of a larger graph
// than that of the leaves: another leaf's, or one of the levels below.
PyObject* depends_outside(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *outputs, *leaves;
    need(PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &outputs, &PyTuple_Type, &leaves));
    const std::vector<Tensor> own = tensors_of(leaves);
    for (const Tensor& t : tensors_of(outputs))
      if (recorded_below(t) || (requires_grad(t) && reaches_others(t, own))) return py_bool(true);
    return py_bool(false);
  });
}

// _leave_graph(tensor, leaves): without the graph of this level, unless it is part of a larger one;
// leaves None: without any. Tangents stay.
PyObject* leave_graph(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *leaves;
    need(PyArg_ParseTuple(args, "OO", &o, &leaves));
    const Tensor& t = tensor_arg(o);
    if (leaves == Py_None) return wrap(detached(t));
    const std::vector<Tensor> own = tensors_of(leaves);
    bool itself = false;
    for (const Tensor& l : own) itself |= l.same(t);
    if (!requires_grad(t) || (!itself && reaches_others(t, own))) return Owned::share(o).leave();
    return wrap(detached(t));
  });
}

// _call_below(level, function, args): called while `level` and those inside of it are not in force.
PyObject* call_below(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int level;
    PyObject *function, *values;
    need(PyArg_ParseTuple(args, "iOO!", &level, &function, &PyTuple_Type, &values));
    const Descent down(level - 1);
    return need(PyObject_Call(function, values, nullptr));
  });
}
// _level_info(level): (forward, size, randomness)
PyObject* level_info(PyObject*, PyObject* number) {
  return guarded([&] {
    const TransformLevel& level = level_at(int(PyLong_AsLong(number)));
    static const char* const words[] = {"error", "same", "different"};
    return Py_BuildValue("OLs", level.forward ? Py_True : Py_False, (long long)level.size,
                         words[int(level.randomness)]);
  });
}
// _level_of(tensors): the innermost level that any of them belongs to, 0 for none.
PyObject* level_of_(PyObject*, PyObject* tuple) {
  return guarded([&] {
    int level = 0;
    for (const Tensor& t : tensors_of(tuple)) level = std::max(level, level_of(t));
    return PyLong_FromLong(level);
  });
}

// _rules(): how vmap and forward mode serve each record.
PyObject* rules(PyObject*, PyObject*) {
  return guarded([&] {
    Owned d(need(PyDict_New()));
    for (const Record& r : registry()) {
      Owned row(need(Py_BuildValue("ss", batching_of(r), forward_of(r))));
      need(PyDict_SetItemString(d.get(), r.name.c_str(), row.get()) == 0);
    }
    return d.leave();
  });
}

PyMethodDef functions[] = {
    {"_enter_vmap", enter_vmap, METH_VARARGS, nullptr},
    {"_enter_forward", enter_forward, METH_O, nullptr},
    {"_leave_level", leave_level, METH_NOARGS, nullptr},
    {"_current_level", current, METH_NOARGS, nullptr},
    {"_count_transforms", count_transforms, METH_O, nullptr},
    {"_count_in_inference", count_in_inference, METH_O, nullptr},
    {"_wrap_batched", wrap_batched_, METH_VARARGS, nullptr},
    {"_wrap_dual", wrap_dual_, METH_VARARGS, nullptr},
    {"_unwrap", unwrap_, METH_VARARGS, nullptr},
    {"_wrapper", wrapper_, METH_O, nullptr},
    {"_grad_input", grad_input, METH_O, nullptr},
    {"_depends_outside", depends_outside, METH_VARARGS, nullptr},
    {"_leave_graph", leave_graph, METH_VARARGS, nullptr},
    {"_call_below", call_below, METH_VARARGS, nullptr},
    {"_level_info", level_info, METH_O, nullptr},
    {"_level_of", level_of_, METH_O, nullptr},
    {"_rules", rules, METH_NOARGS, nullptr},
    {}};

}  // namespace

bool is_mapped(const Tensor& t) {
  const Wrapper* w = wrapper_of(t);
  return w && w->batched;
}

void refuse_mapped(const Tensor& t) {
  check(!is_mapped(t), "Cannot access data pointer of Tensor that doesn't have storage");
}

void refuse_choice(const Tensor& t) {
  const Wrapper* w = wrapper_of(t);
  check(!w || !w->batched || !level_of(t),
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
        "flow. We don't support that yet, please file an issue at "
        "https://github.com/pytorch/pytorch/issues .");
}

bool transforms_running() { return transforms > 0; }

void refuse_in_transform(const char* method, const char* also) {
  check(!transforms, "You are attempting to call Tensor.", method, " ", also, "inside of a "
        "function being transformed by a functorch transform. This is unsupported, please attempt "
        "to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call ",
        method, " outside of a function being transformed instead.");
}

int add_transform(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace rl::bind
