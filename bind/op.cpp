// Ops as Python callables: choosing an overload, running it, wrapping what comes back.
#include "bind/op.h"

#include <cstring>
#include <map>

#include "bind/operators.h"
#include "bind/origin.h"
#include "bind/signatures.h"
#include "ops/dispatch.h"
#include "ops/ops.h"

namespace rl::bind {
namespace {

PyTypeObject *function_type, *method_type;
std::deque<OpName> names;

// One field a line, as PyTorch shows them.
PyObject* repr_of_results(PyObject* o) {
  const PyTypeObject* type = Py_TYPE(o);
  Owned s(need(PyUnicode_FromFormat("%s(", type->tp_name)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    Owned line(PyUnicode_FromFormat("%U%s\n%s=%R", s.get(), i ? "," : "", type->tp_members[i].name,
                                    PyTuple_GET_ITEM(o, i)));
    if (!line) return nullptr;
    s = std::move(line);
  }
  return PyUnicode_FromFormat("%U)", s.get());
}

// max(dim) and its like give a named tuple, torch.return_types.max.
PyTypeObject* type_of_results(const Record& r) {
  static std::map<std::string, PyTypeObject*> types;
  PyTypeObject*& type = types[r.base];
  if (!type) {
    auto* fields = new PyStructSequence_Field[size_t(r.visible) + 1]();
    for (int i = 0; i < r.visible; ++i) fields[i].name = r.returns[size_t(i)].name.c_str();
    auto* name = new std::string("torch.return_types." + r.base);
    PyStructSequence_Desc desc = {name->c_str(), "", fields, r.visible};
    type = PyStructSequence_NewType(&desc);
    need(type != nullptr);
    type->tp_repr = repr_of_results;
    const Owned module(need(PyUnicode_FromString("rushlight.return_types")));  // for pickles
    auto* made = reinterpret_cast<PyObject*>(type);
    need(PyObject_SetAttrString(made, "__module__", module.get()) == 0);
  }
  return type;
}

PyObject* named_results(const Record& r, Value* results) {
  Owned t(need(PyStructSequence_New(type_of_results(r))));
  for (int i = 0; i < r.visible; ++i)
    PyStructSequence_SetItem(t.get(), i, need(wrap(results[i].take_tensor())));
  return t.leave();
}

PyObject* wrap_value(Value& v) {
  const Arg& a = v.arg();
  switch (a.tag) {
    case Tag::None: Py_RETURN_NONE;
    case Tag::Tensor: return wrap(v.take_tensor());
    case Tag::Tensors: {
      const TensorList list = v.tensors();
      Owned t(need(PyTuple_New(Py_ssize_t(list.size()))));
      for (size_t i = 0; i < list.size(); ++i)
        PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), need(wrap(list[i])));
      return t.leave();
    }
    case Tag::DType: return wrap_dtype(DType(a.integer));
    case Tag::Ints: return wrap_size(a.ints());
    default: return wrap_scalar(a.scalar());
  }
}

bool is_named(const Record& r) {
  return r.visible > 1 && (r.returns[0].name != "result" || r.returns[1].name != "result1");
}

}  // namespace

PyObject* return_type(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* base = PyUnicode_AsUTF8(name);
    need(base != nullptr);
    for (const OpName& op : names) {
      for (const Record* r : op.overloads) {
        if (r->base != base || !is_named(*r)) continue;
        return Owned::share(reinterpret_cast<PyObject*>(type_of_results(*r))).leave();
      }
    }
    PyErr_Format(PyExc_AttributeError, "module 'torch.return_types' has no attribute '%s'", base);
    return nullptr;
  });
}

PyObject* wrap_results(const Record& r, Value* results) {
  if (r.visible == 1) return wrap_value(results[0]);
  if (r.visible == 0) Py_RETURN_NONE;
  if (is_named(r)) return named_results(r, results);
  Owned t(need(PyTuple_New(r.visible)));
  for (int i = 0; i < r.visible; ++i) PyTuple_SET_ITEM(t.get(), i, need(wrap_value(results[i])));
  return t.leave();
}

namespace {

PyObject* run_out(const Record& r, const Arg* args, PyObject* out) {
  Tensor targets[8];
  if (r.visible == 1) {
    check(is_tensor(out), ErrorKind::Type, r.base, "(): argument 'out' must be Tensor, not ",
          Py_TYPE(out)->tp_name);
    targets[0] = tensor_of(out);
  } else {
    Owned list(PySequence_Fast(out, "out must be a tuple of tensors"));
    need(list.get());
    check(PySequence_Fast_GET_SIZE(list.get()) == r.visible, ErrorKind::Type, r.base,
          "(): argument 'out' must be a tuple of ", int64_t(r.visible), " Tensors");
    for (int i = 0; i < r.visible; ++i) {
      PyObject* t = PySequence_Fast_GET_ITEM(list.get(), i);
      check(is_tensor(t), ErrorKind::Type, r.base, "(): argument 'out' must be tuple of Tensors, "
            "not ", Py_TYPE(t)->tp_name);
      targets[i] = tensor_of(t);
    }
  }
  invoke_out(r, args, targets);
  if (r.visible == 1) {
    Py_INCREF(out);
    return out;
  }
  Value results[8];
  for (int i = 0; i < r.visible; ++i) results[i] = Value(targets[i]);
  return wrap_results(r, results);
}

[[gnu::noinline]] PyObject* run_otherwise(const OpName& op, const Record& r, const Arg* args,
                                          const Call& call) {
  if (op.in_place) {
    invoke_in_place(r, args);
    Py_INCREF(call.args[0]);
    return call.args[0];
  }
  if (call.out && call.out != Py_None) return run_out(r, args, call.out);
  Value results[8];
  invoke(r, args, results);
  if (call.requires_grad) set_requires_grad(results[0].tensor(), true);
  return wrap_results(r, results);
}

[[gnu::always_inline]] inline PyObject* run_record(const OpName& op, const Record& r,
                                                   const Arg* args, const Call& call) {
  if (op.in_place || r.visible != 1 || call.out || call.requires_grad)
    return run_otherwise(op, r, args, call);
  Value result;
  invoke(r, args, &result);
  return result.is_tensor() ? wrap(result.take_tensor()) : wrap_value(result);
}

// Takes keyword arguments that are not the record's own: out=, and what factories ignore.
class Keywords {
 public:
  Keywords(const OpName& op, Call& call) {
    const Py_ssize_t n = PyTuple_GET_SIZE(call.names);
    bool any = false;
    for (Py_ssize_t i = 0; i < n; ++i) any |= special(op, PyTuple_GET_ITEM(call.names, i));
    if (!any) return;
    names_ = Owned(need(PyTuple_New(0)));
    for (Py_ssize_t i = 0; i < call.count; ++i) values_.push_back(call.args[i]);
    std::vector<PyObject*> kept;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* name = PyTuple_GET_ITEM(call.names, i);
      PyObject* value = call.args[call.count + i];
      if (!special(op, name)) {
        kept.push_back(name);
        values_.push_back(value);
      } else if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
        call.out = value;
      } else if (PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0) {
        call.requires_grad = PyObject_IsTrue(value) == 1;
      } else if (PyUnicode_CompareWithASCIIString(name, "layout") == 0) {
        check(value == Py_None || (Py_TYPE(value) == layout_type &&
                                   reinterpret_cast<NamedObject*>(value)->value == 0),
              ErrorKind::NotImplemented, "only strided tensors are supported");
      }
    }
    names_ = Owned(need(PyTuple_New(Py_ssize_t(kept.size()))));
    for (size_t i = 0; i < kept.size(); ++i) {
      Py_INCREF(kept[i]);
      PyTuple_SET_ITEM(names_.get(), Py_ssize_t(i), kept[i]);
    }
    call.args = values_.data();
    call.names = kept.empty() ? nullptr : names_.get();
  }

 private:
  static bool special(const OpName& op, PyObject* name) {
    if (op.out && PyUnicode_CompareWithASCIIString(name, "out") == 0) return true;
    if (!op.factory) return false;
    for (const char* s : {"requires_grad", "layout", "pin_memory"})
      if (PyUnicode_CompareWithASCIIString(name, s) == 0) return true;
    return false;
  }
  std::vector<PyObject*> values_;
  Owned names_;
};

[[gnu::noinline]] PyObject* run_deprecated(const OpName& op, const Call& call, Arg* args,
                                           LazyRoom& room) {
  const Record* r = read_deprecated(op, call, args, room);
  if (!r) refuse_call(op, call);
  return run_record(op, *r, args, call);
}

[[gnu::always_inline]] inline PyObject* read_and_run(const OpName& op, const Call& call) {
  alignas(Arg) unsigned char space[kMostParams * sizeof(Arg)];
  Arg* args = reinterpret_cast<Arg*>(space);
  LazyRoom room;
  const bool filled = call.out && call.out != Py_None;
  for (const Record* r : op.overloads) {
    if (filled && !(r->forms & Out)) continue;
    if (read_call(*r, call, args, room, nullptr)) return run_record(op, *r, args, call);
  }
  return run_deprecated(op, call, args, room);
}

[[gnu::noinline]] PyObject* call_with_keywords(const OpName& op, Call call) {
  const Keywords taken(op, call);
  return read_and_run(op, call);
}

// Null and no exception when no argument overrides after all.
[[gnu::noinline]] PyObject* try_override(const OpName& op, const Call& call) {
  const Py_ssize_t named = call.names ? PyTuple_GET_SIZE(call.names) : 0;
  if (!any_override(call.args, call.count + named) && !(modes() & kFunctionMode)) return nullptr;
  return call_override(op.function, call.args, call.count, call.names);
}

}  // namespace

PyObject* call_op(const OpName& op, const Call& call) {
  note_origin();  // the program's line, which errors and graph nodes name
  bool plain = !call.names && !(modes() & kFunctionMode);
  for (Py_ssize_t i = 0; plain && i < call.count; ++i) plain = is_plain(call.args[i]);
  if (!plain) {
    PyObject* r = try_override(op, call);
    if (r || PyErr_Occurred()) return r;
  }
  if (call.names && (op.out || op.factory)) return call_with_keywords(op, call);
  return read_and_run(op, call);
}

namespace {

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  return guarded([&] {
    const OpName& op = *reinterpret_cast<OpObject*>(self)->op;
    return call_op(op, {args, PyVectorcall_NARGS(flags), kwnames, false});
  });
}

PyObject* call_method(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    const OpName& op = *reinterpret_cast<OpObject*>(self)->op;
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    check(count > 0, ErrorKind::Type, "unbound method TensorBase.", op.name,
          "() needs an argument");
    check(is_tensor(args[0]), ErrorKind::Type, "descriptor '", op.name,
          "' for 'torch._C.TensorBase' objects doesn't apply to a '", Py_TYPE(args[0])->tp_name,
          "' object");
    return call_op(op, {args, count, kwnames, true});
  });
}

PyObject* bind_method(PyObject* self, PyObject* object, PyObject*) {
  if (!object || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, object);
}

PyObject* op_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<OpObject*>(self)->op->name.c_str());
}
PyObject* op_doc(PyObject* self, void*) {
  const OpName& op = *reinterpret_cast<OpObject*>(self)->op;
  std::string s;
  for (const Record* r : op.overloads) s += op.name + signature_text(*r, op.method) + "\n";
  for (const Record* r : op.overloads) s += r->doc.empty() ? "" : "\n" + r->doc;
  return PyUnicode_FromString(s.c_str());
}
PyObject* op_repr(PyObject* self) {
  const OpName& op = *reinterpret_cast<OpObject*>(self)->op;
  return PyUnicode_FromFormat(op.method ? "<method '%s' of 'torch._C.TensorBase' objects>"
                                        : "<built-in method %s>", op.name.c_str());
}
// Pickle asks a function for its module only when it needs it: it is looked up then.
int place_function(PyObject* self, const char* name) {
  for (const char* place : {"rushlight", "rushlight._C._nn", "rushlight._C._linalg",
                            "rushlight._C._special", "rushlight._C._fft",
                            "rushlight._C._VariableFunctions"}) {
    const Owned module(PyImport_ImportModule(place));
    if (!module) return -1;
    const Owned there(PyObject_GetAttrString(module.get(), name));
    if (!there) PyErr_Clear();
    if (there.get() != self) continue;
    const Owned text(PyUnicode_FromString(place));
    return text ? PyObject_SetAttrString(self, "__module__", text.get()) : -1;
  }
  return 0;
}

// A function is found again by its name in the package; a method by getattr(Tensor, name).
PyObject* op_reduce(PyObject* self, PyObject*) {
  const OpName& op = *reinterpret_cast<OpObject*>(self)->op;
  if (!op.method) {
    if (place_function(self, op.name.c_str()) < 0) return nullptr;
    return PyUnicode_FromString(op.name.c_str());
  }
  Owned builtins(PyImport_ImportModule("builtins"));
  if (!builtins) return nullptr;
  return Py_BuildValue("N(Os)", PyObject_GetAttrString(builtins.get(), "getattr"), tensor_type,
                       op.name.c_str());
}
PyGetSetDef op_properties[] = {{"__name__", op_name, nullptr, nullptr, nullptr},
                               {"__qualname__", op_name, nullptr, nullptr, nullptr},
                               {"__doc__", op_doc, nullptr, nullptr, nullptr},
                               {}};
PyMethodDef op_methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(OpObject, dict), READONLY, nullptr},
    {}};

PyTypeObject* make_type(const char* name, bool method) {
  PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
                         {Py_tp_getset, op_properties},
                         {Py_tp_methods, op_methods},
                         {Py_tp_members, op_members},
                         {method ? Py_tp_descr_get : 0,
                          method ? reinterpret_cast<void*>(bind_method) : nullptr},
                         {0, nullptr}};
  PyType_Spec spec = {name, sizeof(OpObject), 0,
                      unsigned(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                               (method ? kMethodFlags : 0)),
                      slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

PyObject* make_op(OpName& op) {
  auto* o = PyObject_New(OpObject, op.method ? method_type : function_type);
  need(reinterpret_cast<PyObject*>(o));
  o->vectorcall = op.method ? call_method : vectorcall;
  o->op = &op;
  o->dict = nullptr;
  op.function = reinterpret_cast<PyObject*>(o);
  return op.function;
}

const char* namespace_of(const Record& r) {
  return r.forms & NN ? "_nn" : r.forms & Linalg ? "_linalg" : r.forms & Special ? "_special"
       : r.forms & FFT ? "_fft" : r.forms & Hidden ? "_ops" : "_functions";
}

// Whether `a` is to be tried before `b`: it has a tensor where that one has a number, which
// a tensor of no dimension could stand for; in all else they agree.
bool comes_before(const Record& a, const Record& b) {
  bool before = false;
  for (size_t i = 0; i < std::min(a.params.size(), b.params.size()); ++i) {
    const Type x = a.params[i].type, y = b.params[i].type;
    if (a.params[i].keyword_only || b.params[i].keyword_only) break;
    if (x == y) continue;
    if (x != Type::Tensor || a.params[i].number) return false;
    if (y != Type::Number && y != Type::Int) return false;
    before = true;
  }
  return before;
}

// Overloads of a name are tried in the order of definition but where one comes before another.
using Table = std::map<std::pair<std::string, std::string>, OpName*>;

OpName& named(Table& table, const std::string& place, const std::string& name, bool method,
              bool in_place) {
  OpName*& op = table[{place, name}];
  if (!op) {
    op = &names.emplace_back();
    const bool prefixed = place == "_linalg" || place == "_special" || place == "_fft";
    op->name = prefixed ? place.substr(1) + "_" + name : name;
    op->method = method;
    op->in_place = in_place;
  }
  return *op;
}

// An alias "special.expit" is a function of torch.special.
void enter(Table& table, const Record& r, const std::string& name) {
  const bool out = r.forms & Out;
  auto add = [&](OpName& op) {
    auto place = op.overloads.begin();
    while (place != op.overloads.end() && !comes_before(r, **place)) ++place;
    op.overloads.insert(place, &r);
    op.out |= out && !op.in_place;
    op.factory |= r.kind == Kind::Factory;
  };
  if (name.compare(0, 8, "special.") == 0) {
    add(named(table, "_special", name.substr(8), false, false));
    return;
  }
  if (r.forms & (Function | NN | Linalg | Special | FFT | Hidden)) {
    const std::string place = namespace_of(r), prefix = place.substr(1) + "_";
    const bool prefixed = r.forms & (Linalg | Special | FFT) && name.starts_with(prefix);
    add(named(table, place, prefixed ? name.substr(prefix.size()) : name, false, false));
  }
  if (r.forms & Method) add(named(table, "Tensor", name, true, false));
  if (r.forms & Inplace) {
    if (r.forms & Method) add(named(table, "Tensor", name + "_", true, true));
    if (r.forms & Function) add(named(table, "_functions", name + "_", false, true));
    if (r.forms & NN) add(named(table, "_nn", name + "_", false, true));
  }
}

}  // namespace

int add_ops(PyObject* module) {
  return guarded([&] {
    finish_records();
    if (!faults().empty()) {
      std::string s = "faults in op records:";
      for (const std::string& f : faults()) s += "\n  " + f;
      PyErr_SetString(PyExc_ImportError, s.c_str());
      throw PythonError();
    }
    function_type = make_type("rushlight._C.Function", false);
    method_type = make_type("rushlight._C.Method", true);
    need(function_type && method_type);
    Table table;
    for (Record& r : registry()) {
      prepare_reading(r);
      enter(table, r, r.base);
      for (const std::string& alias : r.aliases) enter(table, r, alias);
    }
    for (const char* place : {"_functions", "_nn", "_linalg", "_special", "_fft", "_ops"}) {
      Owned d(need(PyDict_New()));
      for (auto& [key, op] : table) {
        if (key.first != place) continue;
        need(PyDict_SetItemString(d.get(), key.second.c_str(), make_op(*op)) == 0);
      }
      need(PyModule_AddObjectRef(module, text(place, "_table").c_str(), d.get()) == 0);
    }
    for (auto& [key, op] : table) {
      if (key.first != "Tensor") continue;
      need(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_base_type), key.second.c_str(),
                                  make_op(*op)) == 0);
    }
    for (const Record& r : registry()) {
      auto in = [&](const char* place, const std::string& name) {
        const auto at = table.find({place, name});
        return at == table.end() ? nullptr : at->second;
      };
      for (const auto& [dunder, more] : r.dunders) {
        OpName* op = in("Tensor", r.base);
        if (!op) op = in(namespace_of(r), r.base);
        set_operator(dunder, op, in("Tensor", r.base + "_"), more);
      }
    }
    PyType_Modified(tensor_base_type);
    PyType_Modified(tensor_type);
    return 0;
  });
}

}  // namespace rl::bind
