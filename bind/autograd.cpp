// Graph nodes and hooks as Python objects; modes; running backward.
#include "bind/autograd.h"

#include <map>

#include "autograd/names.h"
#include "autograd/running.h"
#include "autograd/shared.h"
#include "bind/hooks.h"
#include "bind/op.h"
#include "bind/origin.h"
#include "bind/types.h"
#include "ops/op_node.h"
#include "ops/ops.h"

namespace rl::bind {
namespace {

// ---- Hooks

class CallableHook : public Hook {
 public:
  explicit CallableHook(PyObject* f) : f_(Owned::share(f)) {}
  ~CallableHook() override {
    if (!Py_IsInitialized()) {
      f_.leave();
      return;
    }
    WithLock lock;
    f_ = Owned();
  }
  void* object() const override { return f_.get(); }

 protected:
  Owned f_;
};

std::string name_of_hook(PyObject* f) {
  const Owned name(PyObject_GetAttrString(f, "__name__"));
  const char* text = name.get() && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get())
                                                               : nullptr;
  PyErr_Clear();
  return text ? text : "<unknown>";
}

std::string type_in_words(const Tensor& t) {
  const std::string name(type_name_of(t.dtype()));
  if (t.is_meta()) return "Meta" + name + "Type";
  return is_complex(t.dtype()) ? "CPU" + name + "Type" : "torch." + name + "Tensor";
}

// What a hook puts in the place of `given`.
Tensor checked_gradient(PyObject* hook, PyObject* made, const Tensor& given) {
  check(bool(given), "can't replace a None gradient with a non-None value");
  check(is_tensor(made), ErrorKind::Type, "expected Variable, but hook returned '",
        Py_TYPE(made)->tp_name, "'");
  const Tensor& g = tensor_of(made);
  if (g.dtype() != given.dtype() || g.device() != given.device()) {
    fail(ErrorKind::Runtime, "hook '", name_of_hook(hook), "' has changed the type of value (was ",
         type_in_words(given), " got ", type_in_words(g), ")");
  }
  if (g.sizes() != given.sizes()) {
    fail(ErrorKind::Runtime, "hook '", name_of_hook(hook), "' has changed the size of value");
  }
  return g;
}

class TensorHook : public CallableHook {
 public:
  using CallableHook::CallableHook;
  void before(Tensors& grads) override {
    WithLock lock;
    const KeptOrigin kept;
    for (Tensor& g : grads) {
      Owned arg(need(wrap(g)));
      Owned made(need(PyObject_CallOneArg(f_.get(), arg.get())));
      if (made.get() != Py_None) g = checked_gradient(f_.get(), made.get(), g);
    }
  }
};

class LeafHook : public CallableHook {
 public:
  using CallableHook::CallableHook;
  void before(Tensors& leaf) override {
    WithLock lock;
    const KeptOrigin kept;
    Owned arg(need(wrap(leaf[0])));
    Owned made(need(PyObject_CallOneArg(f_.get(), arg.get())));
    if (made.get() == Py_None) return;
    checked_gradient(f_.get(), made.get(), leaf[0]);
    fail(ErrorKind::Runtime, "Tensor post accumulate grad hooks should return None.");
  }
};

Owned tuple_of(const Tensors& list) {
  Owned t(need(PyTuple_New(Py_ssize_t(list.size()))));
  for (size_t i = 0; i < list.size(); ++i)
    PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), need(wrap(list[i])));
  return t;
}

void take_tuple(PyObject* hook, PyObject* made, Tensors& list) {
  if (made == Py_None) return;
  check(PyTuple_Check(made), ErrorKind::Type, "expected tuple, but hook returned '",
        Py_TYPE(made)->tp_name, "'");
  const size_t count = size_t(PyTuple_GET_SIZE(made));
  if (count != list.size()) {
    fail(ErrorKind::Runtime, "hook '", name_of_hook(hook), "' has returned an incorrect number of "
         "values (got ", count, ", but expected ", list.size(), ")");
  }
  Tensors taken;
  for (size_t i = 0; i < count; ++i) {
    PyObject* o = PyTuple_GET_ITEM(made, Py_ssize_t(i));
    taken.push_back(o == Py_None ? Tensor() : checked_gradient(hook, o, list[i]));
  }
  list = std::move(taken);
}

class NodeHook : public CallableHook {
 public:
  NodeHook(PyObject* f, bool before) : CallableHook(f), before_(before) {}
  void before(Tensors& grads) override {
    if (!before_) return;
    WithLock lock;
    const KeptOrigin kept;
    const Owned arg = tuple_of(grads);
    Owned made(need(PyObject_CallOneArg(f_.get(), arg.get())));
    take_tuple(f_.get(), made.get(), grads);
  }
  void after(Tensors& made, const Tensors& received) override {
    if (before_) return;
    WithLock lock;
    const KeptOrigin kept;
    const Owned inputs = tuple_of(made), outputs = tuple_of(received);
    Owned r(need(PyObject_CallFunctionObjArgs(f_.get(), inputs.get(), outputs.get(), nullptr)));
    take_tuple(f_.get(), r.get(), made);
  }

 private:
  bool before_;
};

// ---- Nodes

struct NodeObject {
  PyObject_HEAD
  Node* node;
  PyObject* dict;
};

PyTypeObject* base_type = nullptr;

// Contexts of custom functions outlive their node.
Node* self_of(PyObject* o, const char* attribute = "name") {
  Node* n = reinterpret_cast<NodeObject*>(o)->node;
  check(n, "Attribute '", attribute,
        "' is invalid for this instance of _C._FunctionBase. Accessing "
        "this attribute directly on an instance of autograd.Function is a legacy access pattern "
        "that is no longer supported. For examples on how to use new-style autograd functions, see "
        "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function");
  return n;
}

void node_dealloc(PyObject* o) {
  auto* self = reinterpret_cast<NodeObject*>(o);
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  Py_CLEAR(self->dict);
  if (self->node) {
    self->node->owner = nullptr;
    Node::release(self->node);
  }
  PyObject_GC_Del(o);
  Py_DECREF(type);
}
int node_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(reinterpret_cast<NodeObject*>(o)->dict);
  Node* n = self_of(o);
  if (n->refs() == 1 && n->hooks) {
    for (auto& h : n->hooks->before) Py_VISIT(static_cast<PyObject*>(h->object()));
    for (auto& h : n->hooks->after) Py_VISIT(static_cast<PyObject*>(h->object()));
  }
  return 0;
}
int node_clear(PyObject* o) {
  Py_CLEAR(reinterpret_cast<NodeObject*>(o)->dict);
  if (self_of(o)->refs() == 1) self_of(o)->hooks.reset();
  return 0;
}

PyObject* node_repr(PyObject* o) {
  if (!reinterpret_cast<NodeObject*>(o)->node) return PyBaseObject_Type.tp_repr(o);
  return guarded([&] {
    return PyUnicode_FromFormat("<%s object at %p>", self_of(o)->name().c_str(),
                                static_cast<void*>(o));
  });
}
PyObject* node_name(PyObject* o, PyObject*) {
  return guarded([&] {
    if (!reinterpret_cast<NodeObject*>(o)->node)
      return PyUnicode_FromString(name_of_ended(o).c_str());
    return PyUnicode_FromString(full_name(*self_of(o)).c_str());
  });
}
PyObject* node_next(PyObject* o, void*) {
  return guarded([&] {
    const Node* n = reinterpret_cast<NodeObject*>(o)->node;
    const Span<Edge> next = n ? Span<Edge>(n->next) : edges_of_ended(o);
    Owned t(need(PyTuple_New(Py_ssize_t(next.size()))));
    for (size_t i = 0; i < next.size(); ++i) {
      PyObject* pair = Py_BuildValue("Ni", need(wrap_node(next[i].node)), next[i].input);
      PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), need(pair));
    }
    return t.leave();
  });
}
// The user's dict of a node stays as long as the node, whether or not Python holds it; that of a
// custom function stays with its context.
class Metadata : public CallableHook {
 public:
  using CallableHook::CallableHook;
  PyObject* dict() const { return f_.get(); }
};
PyObject* context_metadata(NodeObject* self) {
  if (!self->dict) need((self->dict = PyDict_New()) != nullptr);
  PyObject* d = PyDict_GetItemString(self->dict, "__metadata");
  if (d) return Py_NewRef(d);
  Owned fresh(need(PyDict_New()));
  need(PyDict_SetItemString(self->dict, "__metadata", fresh.get()) == 0);
  return fresh.leave();
}
PyObject* node_metadata(PyObject* o, void*) {
  return guarded([&] {
    auto* self = reinterpret_cast<NodeObject*>(o);
    if (!self->node || self->node->object()) return context_metadata(self);
    auto& kept = self->node->need_hooks().before;
    for (auto& h : kept)
      if (auto* found = dynamic_cast<Metadata*>(h.get())) return Py_NewRef(found->dict());
    const Owned fresh(need(PyDict_New()));
    add_hook(self->node, kept, std::make_shared<Metadata>(fresh.get()));
    return Py_NewRef(fresh.get());
  });
}
// The node's backward on gradients, one per result, as PyTorch gives it: no hooks, no sums.
PyObject* node_call(PyObject* o, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    check(!keywords || PyDict_GET_SIZE(keywords) == 0, ErrorKind::Type,
          "keyword arguments are not supported");
    const Ref<Node> n = Ref<Node>::share(self_of(o));
    std::vector<size_t> places;  // of the results that have gradients; indices have none
    for (size_t i = 0; i < n->inputs.size(); ++i)
      if (is_differentiable(n->inputs[i].dtype)) places.push_back(i);
    const size_t count = size_t(PyTuple_GET_SIZE(args));
    check(count == places.size(), ErrorKind::Type, "expected ", places.size(),
          " arguments, got ", count, " instead");
    Tensors grads;
    grads.resize(n->inputs.size());
    bool any = false;
    for (size_t i = 0; i < count; ++i) {
      PyObject* given = PyTuple_GET_ITEM(args, Py_ssize_t(i));
      check(given == Py_None || is_tensor(given), ErrorKind::Type, "argument ", i,
            " is not a Variable");
      if (given != Py_None) grads[places[i]] = tensor_of(given);
      any |= given != Py_None;
    }
    Tensors made;
    if (any) {
      WithoutLock free;
      made = n->apply(std::move(grads));
    }
    if (!n->is_accumulate()) made.resize(n->next.size());
    if (made.size() == 1) return wrap(made[0]);
    return tuple_of(made).leave();
  });
}
PyObject* node_variable(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    auto* a = dynamic_cast<AccumulateGrad*>(self_of(o));
    check(a, ErrorKind::Attribute, "'", Py_TYPE(o)->tp_name,
          "' object has no attribute 'variable'");
    return wrap(a->variable);
  });
}
PyObject* node_sequence(PyObject* o, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(self_of(o, "_sequence_nr")->sequence); });
}
// The sizes and dtype that a gradient for one result has.
PyObject* node_input(PyObject* o, PyObject* place) {
  return guarded([&] {
    const Node& n = *self_of(o);
    const long i = PyLong_AsLong(place);
    check(i >= 0 && size_t(i) < n.inputs.size(), ErrorKind::Index, "no such result");
    return Py_BuildValue("NN", wrap_size(n.inputs[size_t(i)].sizes),
                         wrap_dtype(n.inputs[size_t(i)].dtype));
  });
}

// A hook and its node, in a capsule: what removing it takes.
struct Boxed {
  std::shared_ptr<Hook> hook;
  Ref<Node> node;
};
template <bool Before> PyObject* node_hook(PyObject* o, PyObject* f) {
  return guarded([&] {
    NodeHooks& h = self_of(o)->need_hooks();
    auto hook = std::make_shared<NodeHook>(f, Before);
    add_hook(self_of(o), Before ? h.before : h.after, hook);
    auto* boxed = new Boxed{hook, Ref<Node>::share(self_of(o))};
    return PyCapsule_New(boxed, "rushlight.node_hook", [](PyObject* c) {
      delete static_cast<Boxed*>(PyCapsule_GetPointer(c, "rushlight.node_hook"));
    });
  });
}
PyObject* node_remove_hook(PyObject*, PyObject* capsule) {
  return guarded([&] {
    auto* b = static_cast<Boxed*>(PyCapsule_GetPointer(capsule, "rushlight.node_hook"));
    need(b != nullptr);
    if (b->node->hooks) {
      const auto is_it = [&](auto& hook) { return hook == b->hook; };
      remove_hooks(b->node.get(), b->node->hooks->before, is_it);
      remove_hooks(b->node.get(), b->node->hooks->after, is_it);
    }
    return none();
  });
}

// What Python calls a saved value: the record's own name of it; null for sizes and their like.
const std::string* saved_name(const Record& r, const Formula::Source& source) {
  if (source.kind == Formula::Source::Result) return &r.returns[size_t(source.index)].name;
  if (source.kind == Formula::Source::Input) return &r.params[size_t(source.index)].name;
  return nullptr;
}

// grad_fn._saved_self, ._saved_dim and their like.
PyObject* node_getattr(PyObject* o, PyObject* name) {
  PyObject* r = PyObject_GenericGetAttr(o, name);
  if (r || !PyErr_ExceptionMatches(PyExc_AttributeError)) return r;
  auto* node = dynamic_cast<OpNode*>(reinterpret_cast<NodeObject*>(o)->node);
  if (!node || !PyUnicode_IS_ASCII(name)) return nullptr;
  std::string_view s = PyUnicode_AsUTF8(name);
  if (s.substr(0, 7) != "_saved_") return nullptr;
  s.remove_prefix(7);
  for (const Formula::Source& source : node->record().saves) {
    const std::string* known = saved_name(node->record(), source);
    if (!known || *known != s) continue;
    PyErr_Clear();
    return guarded([&] {
      Value v = node->saved(source);
      Record one;
      one.visible = 1;
      one.returns.resize(1);
      return wrap_results(one, &v);
    });
  }
  return nullptr;
}

// What dir() lists: the names that node_getattr answers, too.
PyObject* node_dir(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    Owned names(need(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__",
                                         "O", o)));
    const auto* node = dynamic_cast<OpNode*>(reinterpret_cast<NodeObject*>(o)->node);
    if (!node) return names.leave();
    for (const Formula::Source& source : node->record().saves) {
      const std::string* known = saved_name(node->record(), source);
      if (!known) continue;
      Owned name(need(PyUnicode_FromFormat("_saved_%s", known->c_str())));
      need(PyList_Append(names.get(), name.get()) == 0);
    }
    return names.leave();
  });
}

PyGetSetDef node_properties[] = {{"next_functions", node_next, nullptr, nullptr, nullptr},
                                 {"metadata", node_metadata, nullptr, nullptr, nullptr},
                                 {"variable", node_variable, nullptr, nullptr, nullptr},
                                 {}};
PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "The node's name."},
    {"__dir__", node_dir, METH_NOARGS, nullptr},
    {"_sequence_nr", node_sequence, METH_NOARGS, nullptr},
    {"_input_metadata_of", node_input, METH_O, nullptr},
    {"_register_hook", node_hook<false>, METH_O, nullptr},
    {"_register_prehook", node_hook<true>, METH_O, nullptr},
    {"_remove_hook", node_remove_hook, METH_O | METH_STATIC, nullptr},
    {}};
PyMemberDef node_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(NodeObject, dict), READONLY, nullptr}, {}};

PyTypeObject* make_node_type(const char* name, PyTypeObject* base) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                         {Py_tp_getattro, reinterpret_cast<void*>(node_getattr)},
                         {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
                         {Py_tp_getset, base ? nullptr : node_properties},
                         {Py_tp_methods, base ? nullptr : node_methods},
                         {Py_tp_members, base ? nullptr : node_members},
                         {0, nullptr}};
  PyType_Slot own[] = {slots[0], slots[1], slots[2], slots[3], slots[4],
                       {Py_tp_call, reinterpret_cast<void*>(node_call)}, {0, nullptr}};
  PyType_Spec spec = {name, sizeof(NodeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      base ? own : slots};
  Owned bases(base ? PyTuple_Pack(1, base) : nullptr);
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases.get()));
}

}  // namespace

std::shared_ptr<Hook> tensor_hook(PyObject* f) { return std::make_shared<TensorHook>(f); }
std::shared_ptr<Hook> leaf_hook(PyObject* f) { return std::make_shared<LeafHook>(f); }

PyTypeObject* node_type(const std::string& name) {
  static std::map<std::string, PyTypeObject*> types;
  auto [at, fresh] = types.try_emplace(name);
  if (fresh) {
    const auto* kept = new std::string("builtins." + name);
    at->second = make_node_type(kept->c_str(), base_type);
    need(at->second != nullptr);
    at->second->tp_name = kept->c_str() + kept->rfind('.') + 1;  // as errors show it
  }
  return at->second;
}

PyObject* wrap_node(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (node->owner) {
    PyObject* o = static_cast<PyObject*>(node->owner);
    Py_INCREF(o);
    return o;
  }
  PyTypeObject* type = node_type(node->name());
  auto* o = PyObject_GC_New(NodeObject, type);
  need(reinterpret_cast<PyObject*>(o));
  node->keep();
  o->node = node.get();
  o->dict = nullptr;
  node->owner = o;
  PyObject_GC_Track(o);
  return reinterpret_cast<PyObject*>(o);
}

bool is_node(PyObject* o) { return PyType_IsSubtype(Py_TYPE(o), base_type); }
Ref<Node> node_of(PyObject* o) { return Ref<Node>::share(self_of(o)); }

// ---- What the collector sees through a tensor's graph data

int traverse_autograd(const Autograd& a, visitproc visit, void* arg) {
  for (auto& h : a.hooks) Py_VISIT(static_cast<PyObject*>(h->object()));
  for (auto& h : a.post_accumulate) Py_VISIT(static_cast<PyObject*>(h->object()));
  if (a.node && a.node->refs() == 1) Py_VISIT(static_cast<PyObject*>(a.node->object()));
  return 0;
}

void clear_autograd(Autograd& a) {
  a.hooks.clear();
  a.post_accumulate.clear();
}

namespace {

// ---- Modes

template <uint32_t Bit, bool Inverted> PyObject* mode_get(PyObject*, PyObject*) {
  return py_bool(bool(modes() & Bit) != Inverted);
}
template <uint32_t Bit, bool Inverted> PyObject* mode_set(PyObject*, PyObject* on) {
  const bool before = bool(modes() & Bit) != Inverted;
  const int v = PyObject_IsTrue(on);
  if (v < 0) return nullptr;
  modes_word = (v != 0) != Inverted ? modes_word | Bit : modes_word & ~Bit;
  return py_bool(before);
}
PyObject* grad_enabled_get(PyObject*, PyObject*) { return py_bool(grad_enabled()); }

// ---- Backward

Edge edge_of(PyObject* o, const char* what) {
  if (PyTuple_Check(o)) {  // a GradientEdge
    const bool pair = PyTuple_GET_SIZE(o) >= 2 && is_node(PyTuple_GET_ITEM(o, 0)) &&
                      PyLong_Check(PyTuple_GET_ITEM(o, 1));
    check(pair, ErrorKind::Type, what, " can be either Tensors or GradientEdges");
    Ref<Node> node = node_of(PyTuple_GET_ITEM(o, 0));
    const long output = PyLong_AsLong(PyTuple_GET_ITEM(o, 1));
    PyErr_Clear();
    check(output >= 0 && size_t(output) < node->inputs.size(), ErrorKind::Index,
          "a GradientEdge names output ", int64_t(output), " of ", node->name(), ", which has ",
          int64_t(node->inputs.size()));
    return Edge{std::move(node), int(output)};
  }
  check(is_tensor(o), ErrorKind::Type, what,
        " can be either Tensors or GradientEdges, but they are ", Py_TYPE(o)->tp_name);
  return gradient_edge(tensor_of(o));
}

PyObject* graph_task_id(PyObject*, PyObject*) { return PyLong_FromLongLong(current_run()); }
PyObject* checkpoint_valid(PyObject*, PyObject*) { return py_bool(run_is_whole()); }

// Where backward begins: an edge and a gradient for each tensor that has one.
void add_roots(PyObject* tensors, PyObject* grads, bool unreachable, std::vector<Edge>& roots,
               Tensors& given) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
    const Edge e = edge_of(PyTuple_GET_ITEM(tensors, i), "tensors");
    check(bool(e), "element ", int64_t(i),
          " of tensors does not require grad and does not have a grad_fn");
    PyObject* g = PyTuple_GET_ITEM(grads, i);
    if (g == Py_None) {
      check(unreachable, "element ", int64_t(i), " of gradients tuple is None, but the "
            "corresponding Tensor requires grad");
      continue;
    }
    check(is_tensor(g), ErrorKind::Type, "element ", int64_t(i),
          " of gradients tuple is not a Tensor or None");
    roots.push_back(e);
    given.push_back(tensor_of(g));
  }
}

std::vector<Edge> edges_of(PyObject* inputs, bool accumulate) {
  std::vector<Edge> edges;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
    PyObject* o = PyTuple_GET_ITEM(inputs, i);
    if (is_tensor(o)) {
      const Tensor& t = tensor_of(o);
      check(requires_grad(t), "One of the differentiated Tensors does not require grad");
      if (accumulate && !is_leaf(t)) retain_grad(t);
    }
    edges.push_back(edge_of(o, "inputs"));
  }
  return edges;
}

// run_backward(tensors, grads, keep_graph, create_graph, inputs, allow_unreachable, accumulate)
PyObject* run_backward_(PyObject*, PyObject* args) {
  note_origin();
  return guarded([&]() -> PyObject* {
    PyObject *tensors, *grads, *inputs;
    int keep, create, unreachable, accumulate;
    need(PyArg_ParseTuple(args, "O!O!ppO!pp", &PyTuple_Type, &tensors, &PyTuple_Type, &grads, &keep,
                          &create, &PyTuple_Type, &inputs, &unreachable, &accumulate));
    BackwardCall call;
    std::vector<Edge> roots;
    add_roots(tensors, grads, unreachable, roots, call.grads);
    call.roots = Span<Edge>(roots.data(), roots.size());
    call.keep_graph = keep;
    call.create_graph = create;
    (accumulate ? call.only : call.wanted) = edges_of(inputs, accumulate);
    std::vector<Tensor> captured;
    {
      WithoutLock free;
      captured = run_backward(call);
    }
    if (accumulate || captured.empty()) Py_RETURN_NONE;
    Owned result(need(PyTuple_New(Py_ssize_t(captured.size()))));
    for (size_t i = 0; i < captured.size(); ++i) {
      check(captured[i].defined() || unreachable, "The differentiated Tensor at index ", int64_t(i),
            " appears to not have been used in the graph. Set allow_unused=True if this is the "
            "desired behavior.");
      PyTuple_SET_ITEM(result.get(), Py_ssize_t(i), need(wrap(captured[i])));
    }
    return result.leave();
  });
}

// Backward from one real number, the usual loss: True. False: not such a tensor, or one whose
// gradients are asked for in another way; nothing was done.
PyObject* backward_of_scalar_(PyObject*, PyObject* const* args, Py_ssize_t count) {
  note_origin();
  return guarded([&]() -> PyObject* {
    check(count == 3, ErrorKind::Type, "_backward_of_scalar takes 3 arguments");
    const int keep = PyObject_IsTrue(args[1]), create = PyObject_IsTrue(args[2]);
    if (keep < 0 || create < 0) throw PythonError();
    if (Py_TYPE(args[0]) != tensor_type || (modes() & (kTransform | kFunctionMode))) {
      Py_RETURN_FALSE;
    }
    const Tensor loss = tensor_of(args[0]);
    if (loss.numel() != 1 || !loss.is_floating() || !requires_grad(loss)) Py_RETURN_FALSE;
    const Edge root = gradient_edge(loss);
    BackwardCall call;
    call.roots = Span<Edge>(&root, 1);
    call.grads.push_back(ops::ones_like(loss));
    call.keep_graph = keep;
    call.create_graph = create;
    {
      WithoutLock free;
      run_backward(call);
    }
    Py_RETURN_TRUE;
  });
}

PyObject* gradient_edge_(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(o), ErrorKind::Type, "expected a Tensor");
    const Edge e = gradient_edge(tensor_of(o));
    check(bool(e), "Can't get gradient edge if the gradient can't be computed");
    return Py_BuildValue("Ni", need(wrap_node(e.node)), e.input);
  });
}

PyObject* current_node_(PyObject*, PyObject*) {
  return guarded([&] { return wrap_node(Ref<Node>::share(current_node())); });
}

PyObject* current_run_(PyObject*, PyObject*) { return PyLong_FromLongLong(current_run()); }
PyObject* will_run_(PyObject*, PyObject* node) {
  return guarded([&] {
    check(is_node(node), ErrorKind::Type, "expected a Node");
    return py_bool(will_run(self_of(node)));
  });
}

// queue_callback(f): f is called when the backward that runs now is done.
PyObject* queue_callback_(PyObject*, PyObject* f) {
  return guarded([&] {
    std::shared_ptr<Owned> kept(new Owned(Owned::share(f)), [](Owned* o) {
      WithLock lock;
      delete o;
    });
    queue_callback([kept] {
      WithLock lock;
      Owned done(need(PyObject_CallNoArgs(kept->get())));
    });
    return none();
  });
}

PyMethodDef functions[] = {
    {"_current_run", current_run_, METH_NOARGS, nullptr},
    {"_will_run", will_run_, METH_O, nullptr},
    {"_queue_callback", queue_callback_, METH_O, nullptr},
    {"is_grad_enabled", grad_enabled_get, METH_NOARGS, nullptr},
    {"_set_grad_enabled", mode_set<kNoGrad, true>, METH_O, nullptr},
    {"is_inference_mode_enabled", mode_get<kInference, false>, METH_NOARGS, nullptr},
    {"_set_inference_mode", mode_set<kInference, false>, METH_O, nullptr},
    {"_set_anomaly", mode_set<kAnomaly, false>, METH_O, nullptr},
    {"is_anomaly_enabled", mode_get<kAnomaly, false>, METH_NOARGS, nullptr},
    {"_run_backward", run_backward_, METH_VARARGS, nullptr},
    {"_backward_of_scalar",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(backward_of_scalar_)), METH_FASTCALL,
     nullptr},
    {"_current_graph_task_id", graph_task_id, METH_NOARGS, nullptr},
    {"_is_checkpoint_valid", checkpoint_valid, METH_NOARGS, nullptr},
    {"_gradient_edge", gradient_edge_, METH_O, nullptr},
    {"_current_node", current_node_, METH_NOARGS, nullptr},
    {}};

}  // namespace

int add_autograd(PyObject* module) {
  base_type = make_node_type("torch.autograd.graph.Node", nullptr);
  if (!base_type) return -1;
  if (PyModule_AddObjectRef(module, "_NodeBase", reinterpret_cast<PyObject*>(base_type)) < 0)
    return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace rl::bind
