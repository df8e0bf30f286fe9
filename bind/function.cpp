// autograd.Function: the context object, the node that calls a Python backward, apply.
#include "bind/autograd.h"
#include "bind/origin.h"
#include "bind/transform.h"

#include "ops/ops.h"

namespace rl::bind {
namespace {

// Note [Function objects and nodes]
// The node owns the context object, which users see as ctx and as grad_fn; the object points back
// weakly, so a node that only the context would keep alive goes away; its name and where it led
// stay. The object starts like any node object, hence hooks, next_functions and metadata are
// inherited.
struct Context {
  PyObject_HEAD
  Node* node;                    // weak: null before apply has run and after the node's death
  PyObject* dict;
  PyObject *needs_input_grad, *to_save, *saved_for_forward, *non_differentiable, *dirty_tensors;
  std::vector<Saved>* saved;
  std::vector<bool>* is_tensor;  // which arguments of forward were tensors
  Small<Edge, 3>* next;          // where the node led, once it has died before the context
  bool materialize_grads, freed, executable;
};

PyTypeObject* function_type = nullptr;

Context* self_of(PyObject* o) { return reinterpret_cast<Context*>(o); }

PyObject* attribute(PyObject* o, const char* name) {
  return need(PyObject_GetAttrString(o, name));
}

// ---- The node

std::string context_name(PyObject* o) {
  const std::string_view full = Py_TYPE(o)->tp_name;
  return std::string(full.substr(full.rfind('.') + 1));
}

class FunctionNode : public Node {
 public:
  explicit FunctionNode(PyObject* context) : context_(Owned::share(context)) {
    self_of(context)->node = this;
  }
  ~FunctionNode() override {
    owner = nullptr;
    self_of(context_.get())->node = nullptr;
    if (!Py_IsInitialized()) {  // globals that die last, when the interpreter is closing
      context_.leave();
      return;
    }
    WithLock lock;
    if (Py_REFCNT(context_.get()) > 1) self_of(context_.get())->next = new auto(std::move(next));
    context_ = Owned();
  }
  std::string name() const override { return context_name(context_.get()); }
  void* object() const override { return context_.get(); }
  Tensors apply(Tensors&& grads) override;
  void free_saved() override {
    Context* self = self_of(context_.get());
    if (!self->saved || self->freed) return;
    WithLock lock;
    self->freed = true;
    std::vector<Saved> gone;
    std::swap(gone, *self->saved);
  }
  int64_t saved_bytes() const override {
    int64_t n = 0;
    if (const auto* saved = self_of(context_.get())->saved)
      for (const Saved& s : *saved) n += s.bytes();
    return n;
  }

 private:
  Owned arguments(const Tensors& grads) const;
  Owned context_;
};

// A missing gradient is zeros, unless the function asked for None.
Owned FunctionNode::arguments(const Tensors& grads) const {
  const size_t n = grads.size();
  Owned args(need(PyTuple_New(Py_ssize_t(n) + 1)));
  PyTuple_SET_ITEM(args.get(), 0, Owned(context_).leave());
  for (size_t i = 0; i < n; ++i) {
    Tensor g = grads[i];
    const InputMeta& meta = inputs[i];
    if (!g && self_of(context_.get())->materialize_grads && meta.dtype != DType::Undefined) {
      g = empty(meta.sizes, meta.dtype, meta.device);
      ops::set_zero(g);
    }
    PyTuple_SET_ITEM(args.get(), Py_ssize_t(i) + 1, need(wrap(std::move(g))));
  }
  return args;
}

// Backward may return more values than forward had arguments, if they are None.
Py_ssize_t checked_count(const Node& node, PyObject* made, Py_ssize_t expected) {
  Py_ssize_t n = PyTuple_GET_SIZE(made);
  bool spare = n > expected;
  for (Py_ssize_t i = expected; i < n; ++i) spare &= PyTuple_GET_ITEM(made, i) == Py_None;
  if (spare) n = expected;
  check(n == expected, "function ", node.name(), " returned an incorrect number of gradients "
        "(expected ", int64_t(expected), ", got ", int64_t(n), ")");
  return n;
}

Tensors FunctionNode::apply(Tensors&& grads) {
  WithLock lock;
  const KeptOrigin kept;
  const Owned args = arguments(grads);
  Owned forward_class(
      attribute(reinterpret_cast<PyObject*>(Py_TYPE(context_.get())), "_forward_cls"));
  Owned backward(attribute(forward_class.get(), "_backward_function"));
  Owned made(need(PyObject_Call(backward.get(), args.get(), nullptr)));
  if (!PyTuple_Check(made.get())) made = Owned(need(PyTuple_Pack(1, made.get())));
  const std::vector<bool>& is_tensor_ = *self_of(context_.get())->is_tensor;
  const Py_ssize_t n = checked_count(*this, made.get(), Py_ssize_t(is_tensor_.size()));
  Tensors result;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* g = PyTuple_GET_ITEM(made.get(), i);
    if (!is_tensor_[size_t(i)]) {
      check(g == Py_None, "function ", name(),
            " returned a gradient different than None at "
            "position ",
            int64_t(i + 1), ", but the corresponding forward input was not a Variable");
      continue;
    }
    check(g == Py_None || is_tensor(g), "expected Variable or None (got ", Py_TYPE(g)->tp_name,
          ")");
    result.push_back(g == Py_None ? Tensor() : tensor_of(g));
  }
  return result;
}

// ---- The context object

PyObject* context_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) self_of(o)->materialize_grads = true;
  return o;
}
int context_clear(PyObject* o) {
  Context* self = self_of(o);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->needs_input_grad);
  Py_CLEAR(self->to_save);
  Py_CLEAR(self->saved_for_forward);
  Py_CLEAR(self->non_differentiable);
  Py_CLEAR(self->dirty_tensors);
  if (self->saved) self->saved->clear();
  delete std::exchange(self->next, nullptr);
  if (self->node && self->node->refs() == 1) self->node->hooks.reset();
  return 0;
}
int context_traverse(PyObject* o, visitproc visit, void* arg) {
  Context* self = self_of(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self->dict);
  Py_VISIT(self->to_save);
  Py_VISIT(self->saved_for_forward);
  Py_VISIT(self->non_differentiable);
  Py_VISIT(self->dirty_tensors);
  if (self->node && self->node->hooks && self->node->refs() == 1) {
    for (auto& h : self->node->hooks->before) Py_VISIT(static_cast<PyObject*>(h->object()));
    for (auto& h : self->node->hooks->after) Py_VISIT(static_cast<PyObject*>(h->object()));
  }
  return 0;
}
void context_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  context_clear(o);
  delete self_of(o)->saved;
  delete self_of(o)->is_tensor;
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* keep_tuple(PyObject*& place, PyObject* tensors) {
  Py_INCREF(tensors);
  Py_XSETREF(place, tensors);
  Py_RETURN_NONE;
}
PyObject* save_for_backward(PyObject* o, PyObject* args) {
  return keep_tuple(self_of(o)->to_save, args);
}
PyObject* mark_dirty(PyObject* o, PyObject* args) {
  return keep_tuple(self_of(o)->dirty_tensors, args);
}
PyObject* mark_non_differentiable(PyObject* o, PyObject* args) {
  return keep_tuple(self_of(o)->non_differentiable, args);
}
PyObject* save_for_forward(PyObject* o, PyObject* args) {
  return keep_tuple(self_of(o)->saved_for_forward, args);
}
PyObject* set_materialize_grads(PyObject* o, PyObject* value) {
  const int on = PyObject_IsTrue(value);
  if (on < 0) return nullptr;
  self_of(o)->materialize_grads = on;
  Py_RETURN_NONE;
}
PyObject* saved_tensors(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    Context* self = self_of(o);
    if (self->saved_for_forward && !self->saved)
      return Owned::share(self->saved_for_forward).leave();
    if (self->freed) fail_freed();
    if (!self->saved) return PyTuple_New(0);
    const std::vector<Saved> saved = *self->saved;  // a hook may let another thread free them
    Owned t(need(PyTuple_New(Py_ssize_t(saved.size()))));
    for (size_t i = 0; i < saved.size(); ++i) {
      Value v = saved[i].unpack(Ref<Node>::share(self->node));
      PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), need(wrap(v.take_tensor())));
    }
    return t.leave();
  });
}

template <PyObject* Context::*Member> PyObject* get_object(PyObject* o, void*) {
  PyObject* p = self_of(o)->*Member;
  if (!p) p = Py_None;
  Py_INCREF(p);
  return p;
}
template <PyObject* Context::*Member> int set_object(PyObject* o, PyObject* value, void*) {
  if (value == Py_None) value = nullptr;
  Py_XINCREF(value);
  Py_XSETREF(self_of(o)->*Member, value);
  return 0;
}
PyObject* get_materialize(PyObject* o, void*) { return py_bool(self_of(o)->materialize_grads); }
int set_materialize(PyObject* o, PyObject* value, void*) {
  const int on = value ? PyObject_IsTrue(value) : -1;
  if (on < 0) return -1;
  self_of(o)->materialize_grads = on;
  return 0;
}

// ---- apply

struct Application {
  PyObject* context;
  Context* self;
  PyObject* args;
  Ref<Node> node;                     // null when nothing needs a gradient
  bool executable = false, setup = false;

  bool is_input(const Tensor& t) const { return among(args, t); }
  bool is_dirty(const Tensor& t) const {
    return self->dirty_tensors && among(self->dirty_tensors, t);
  }
  bool is_marked(const Tensor& t) const {
    return self->non_differentiable && among(self->non_differentiable, t);
  }
  bool is_to_save(const Tensor& t) const { return self->to_save && among(self->to_save, t); }
  static bool among(PyObject* tuple, const Tensor& t) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      PyObject* o = PyTuple_GET_ITEM(tuple, i);
      if (is_tensor(o) && tensor_of(o).same(t)) return true;
    }
    return false;
  }
};

void read_inputs(Application& a) {
  const Py_ssize_t n = PyTuple_GET_SIZE(a.args);
  a.self->is_tensor = new std::vector<bool>(size_t(n), false);
  a.self->needs_input_grad = need(PyTuple_New(n));
  bool any = false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(a.args, i);
    const bool tensor = is_tensor(o), wants = tensor && requires_grad(tensor_of(o));
    (*a.self->is_tensor)[size_t(i)] = tensor;
    any |= wants;
    PyTuple_SET_ITEM(a.self->needs_input_grad, i, py_bool(wants));
  }
  a.executable = a.self->executable = any && grad_enabled();
  if (!a.executable) return;
  a.node = Ref<Node>::take(new FunctionNode(a.context));
  a.node->owner = a.context;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!(*a.self->is_tensor)[size_t(i)]) continue;
    a.node->next.push_back(gradient_edge(tensor_of(PyTuple_GET_ITEM(a.args, i))));
  }
}

Owned with_first(PyObject* first, PyObject* rest) {
  const Py_ssize_t n = PyTuple_GET_SIZE(rest);
  Owned t(need(PyTuple_New(n + 1)));
  Py_INCREF(first);
  PyTuple_SET_ITEM(t.get(), 0, first);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(rest, i);
    Py_INCREF(o);
    PyTuple_SET_ITEM(t.get(), i + 1, o);
  }
  return t;
}

// For tensors of vmap or forward mode, rushlight.func.custom says what forward is.
bool is_transformed(const Application& a) {
  if (!(modes() & kTransform)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a.args); ++i) {
    PyObject* o = PyTuple_GET_ITEM(a.args, i);
    if (is_tensor(o) && level_of(tensor_of(o))) return true;
  }
  return false;
}

Owned run_forward(const Application& a, PyObject* cls) {
  const bool recording = grad_enabled();
  NoGrad quiet;
  const KeptOrigin kept;
  Owned output;
  if (is_transformed(a)) {
    Owned module(need(PyImport_ImportModule("rushlight.func.custom")));
    output = Owned(need(PyObject_CallMethod(module.get(), "forward", "OOOO", cls, a.context, a.args,
                                            recording ? Py_True : Py_False)));
    if (!a.setup) return output;
  } else {
    Owned forward(attribute(cls, "forward"));
    if (!a.setup) {
      const Owned args = with_first(a.context, a.args);
      return Owned(need(PyObject_Call(forward.get(), args.get(), nullptr)));
    }
    output = Owned(need(PyObject_Call(forward.get(), a.args, nullptr)));
  }
  Owned setup(attribute(cls, "setup_context"));
  Owned done(
      need(PyObject_CallFunctionObjArgs(setup.get(), a.context, a.args, output.get(), nullptr)));
  return output;
}

// The user's forward may have put anything there.
void check_kept(const Context& self) {
  for (const auto& [name, kept] :
       {std::pair("to_save", self.to_save), std::pair("dirty_tensors", self.dirty_tensors),
        std::pair("non_differentiable", self.non_differentiable)}) {
    check(!kept || PyTuple_Check(kept), "autograd internal error: ", name,
          " attribute is expected to be a tuple but is ", kept ? Py_TYPE(kept)->tp_name : "");
  }
}

void check_marks(const Application& a, PyObject* outputs) {
  for (PyObject* marks : {a.self->dirty_tensors, a.self->non_differentiable}) {
    for (Py_ssize_t i = 0; marks && i < PyTuple_GET_SIZE(marks); ++i) {
      PyObject* o = PyTuple_GET_ITEM(marks, i);
      const bool dirty = marks == a.self->dirty_tensors;
      check(is_tensor(o),
            dirty ? "mark_dirty can only accept variables, but argument "
                  : "mark_non_differentiable only accepts variable arguments, but got ");
      check(!dirty || Application::among(outputs, tensor_of(o)),
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function.");
    }
  }
}

Tensor as_view(const Tensor& input) {
  Tensor v = alias(input);
  record_view(v, input, ViewKind::Custom);
  return v;
}

void place_in_graph(const Application& a, Tensor& t, Py_ssize_t place, Py_ssize_t count) {
  a.node->inputs.resize(size_t(place));        // one entry per output, whatever it is
  Ref<Node> node = a.node;
  const bool modified = a.is_dirty(t), input = a.is_input(t);
  if (modified) {
    check(!(is_leaf(t) && requires_grad(t)),
          "a leaf Variable that requires grad has been used in an in-place operation.");
    if (!input) {
      warn("Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, "
           "there is no need to pass it to mark_dirty().");
    }
    check(!is_view(t) || count == 1,
          "If your Function modifies inplace an input that is a view of another Tensor, your "
          "Function cannot return more than one Tensor. This is not supported by the current "
          "autograd engine. You should either make sure the input is not a view (using .clone() "
          "for example) or make your Function only return one Tensor (potentially splitting it "
          "into two Functions: one doing the inplace that returns a single Tensor and a second one "
          "that does the other operations). You can ask on the forum "
          "https://discuss.pytorch.org/ if you need help to do this change.");
    rebase_history(t, std::move(node));
    return;
  }
  if (input) {
    check(!(a.setup && a.is_to_save(t)),
          "An input that has been returned as-is as output is being saved for backward. This is "
          "not "
          "supported if you override setup_context. You should return and save a view of the input "
          "instead, e.g. with x.view_as(x) or setup ctx inside the forward function itself.");
    t = as_view(t);
  }
  set_history(t, std::move(node));
  if (is_view(t)) t->autograd->kind = ViewKind::Custom;
}

// What becomes of one result: part of the graph, cut off from it, or itself.
Tensor finish_output(const Application& a, Tensor t, Py_ssize_t place, Py_ssize_t count) {
  const bool differentiable = a.executable && is_differentiable(t.dtype()) && !a.is_marked(t);
  if (differentiable) {
    place_in_graph(a, t, place, count);
    return t;
  }
  if (a.executable) {
    a.node->inputs.resize(size_t(place));
    a.node->add_input(t);
  }
  const bool as_given = a.is_input(t) && !a.is_dirty(t);
  if (!requires_grad(t)) return as_given ? as_view(t) : t;
  if (as_given) return detached(t);
  if (!is_view(t)) detach_in_place(t);
  return t;
}

Owned finish_outputs(const Application& a, PyObject* outputs) {
  const Py_ssize_t n = PyTuple_GET_SIZE(outputs);
  Owned results(need(PyTuple_New(n)));
  Py_ssize_t tensors = 0, in_graph = 0;
  for (Py_ssize_t i = 0; i < n; ++i) tensors += is_tensor(PyTuple_GET_ITEM(outputs, i));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(outputs, i);
    if (!is_tensor(o)) {
      PyTuple_SET_ITEM(results.get(), i, Owned::share(o).leave());
      if (a.executable) a.node->inputs.resize(size_t(i) + 1);
      continue;
    }
    Tensor t = finish_output(a, tensor_of(o), i, tensors);
    PyObject* wrapped = t.same(tensor_of(o)) ? Owned::share(o).leave() : need(wrap(t));
    PyTuple_SET_ITEM(results.get(), i, wrapped);
    if (a.executable) track(wrapped);          // a cycle through the context must be found
    in_graph += t->autograd && t->autograd->node.get() == a.node.get() && a.executable;
  }
  for (Py_ssize_t i = 0; in_graph > 1 && i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(results.get(), i);
    if (is_tensor(o) && is_view(tensor_of(o))) tensor_of(o)->autograd->kind = ViewKind::Multi;
  }
  if (a.executable) a.node->inputs.resize(size_t(n));
  return results;
}

void save_values(const Application& a) {
  Context* self = a.self;
  if (self->to_save && a.executable) {
    auto* saved = new std::vector<Saved>;
    self->saved = saved;
    saved->reserve(size_t(PyTuple_GET_SIZE(self->to_save)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->to_save); ++i) {
      PyObject* o = PyTuple_GET_ITEM(self->to_save, i);
      check(o == Py_None || is_tensor(o), ErrorKind::Type, "save_for_backward can only save "
            "variables, but argument ", int64_t(i), " is of type ", Py_TYPE(o)->tp_name);
      if (o == Py_None) {
        saved->emplace_back();
        continue;
      }
      const Tensor& t = tensor_of(o);
      const bool output = t->autograd && t->autograd->node.get() == a.node.get();
      saved->emplace_back(Arg(t), output);
    }
  }
  Py_CLEAR(self->to_save);
  Py_CLEAR(self->dirty_tensors);
  Py_CLEAR(self->non_differentiable);
}

// Names and defaults become positions; a forward that takes ctx is bound with None in its place.
PyObject* bound_arguments(PyObject* cls, PyObject* args, PyObject* kwargs, bool with_context) {
  Owned module(need(PyImport_ImportModule("rushlight.autograd.function")));
  Owned bind(attribute(module.get(), "bind_default_args"));
  Owned forward(attribute(cls, "forward"));
  if (!with_context) {
    const Owned all = with_first(forward.get(), args);
    return need(PyObject_Call(bind.get(), all.get(), kwargs));
  }
  const Owned all = with_first(forward.get(), with_first(Py_None, args).get());
  Owned bound(need(PyObject_Call(bind.get(), all.get(), kwargs)));
  return need(PyTuple_GetSlice(bound.get(), 1, PyTuple_GET_SIZE(bound.get())));
}

PyObject* apply(PyObject* cls, PyObject* args, PyObject* kwargs) {
  note_origin();
  return guarded([&]() -> PyObject* {
    Owned setup(attribute(cls, "_has_setup_context"));
    const bool has_setup = setup.get() == Py_True;
    check(has_setup || !transforms_running(),
          "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
          "jacrev, ...), it must override the setup_context staticmethod. For more details, please "
          "see https://pytorch.org/docs/main/notes/extending.func.html");
    const bool named = kwargs && PyDict_GET_SIZE(kwargs) > 0;
    Owned bound(has_setup || named ? bound_arguments(cls, args, kwargs, !has_setup)
                                   : Owned::share(args).leave());
    Owned backward_class(attribute(cls, "_backward_cls"));
    Owned context(need(PyObject_CallNoArgs(backward_class.get())));
    check(PyObject_TypeCheck(context.get(), function_type), ErrorKind::Type,
          "_backward_cls must be a subclass of _FunctionBase");
    Application a{context.get(), self_of(context.get()), bound.get(), nullptr, false, has_setup};
    read_inputs(a);
    Owned output = run_forward(a, cls);
    const bool single = !PyTuple_Check(output.get());
    if (single) output = Owned(need(PyTuple_Pack(1, output.get())));
    check_kept(*a.self);
    check_marks(a, output.get());
    Owned results = finish_outputs(a, output.get());
    save_values(a);
    if (!single) return results.leave();
    return Owned::share(PyTuple_GET_ITEM(results.get(), 0)).leave();
  });
}

#define OBJECT(name, member) \
  {name, get_object<&Context::member>, set_object<&Context::member>, nullptr, nullptr}
PyGetSetDef properties[] = {
    {"saved_tensors", saved_tensors, nullptr, "What save_for_backward kept.", nullptr},
    OBJECT("needs_input_grad", needs_input_grad),
    OBJECT("to_save", to_save),
    OBJECT("saved_for_forward", saved_for_forward),
    OBJECT("non_differentiable", non_differentiable),
    OBJECT("dirty_tensors", dirty_tensors),
    {"materialize_grads", get_materialize, set_materialize, nullptr, nullptr},
    {}};
#undef OBJECT
PyMethodDef methods[] = {
    {"apply", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(apply)),
     METH_VARARGS | METH_KEYWORDS | METH_CLASS, "Calls forward and records backward."},
    {"save_for_backward", save_for_backward, METH_VARARGS,
     "Keeps tensors (inputs, outputs, others) for backward; call it once."},
    {"save_for_forward", save_for_forward, METH_VARARGS, "Keeps tensors for jvp."},
    {"mark_dirty", mark_dirty, METH_VARARGS, "Says which inputs forward changed in place."},
    {"mark_non_differentiable", mark_non_differentiable, METH_VARARGS,
     "Says which results have no gradient."},
    {"set_materialize_grads", set_materialize_grads, METH_O,
     "Whether backward gets zeros (True, the default) or None for missing gradients."},
    {}};

}  // namespace

std::string name_of_ended(PyObject* context) { return context_name(context); }
Span<Edge> edges_of_ended(PyObject* context) {
  const Context* self = self_of(context);
  return self->next ? Span<Edge>(*self->next) : Span<Edge>();
}

int add_function(PyObject* module) {
  Owned base(PyObject_GetAttrString(module, "_NodeBase"));
  if (!base) return -1;
  Owned bases(PyTuple_Pack(1, base.get()));
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(context_new)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(context_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(context_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(context_clear)},
                         {Py_tp_getset, properties},
                         {Py_tp_methods, methods},
                         {0, nullptr}};
  PyType_Spec spec = {"rushlight._C._FunctionBase", sizeof(Context), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases.get()));
  if (!function_type) return -1;
  return PyModule_AddObjectRef(module, "_FunctionBase", reinterpret_cast<PyObject*>(function_type));
}

}  // namespace rl::bind
