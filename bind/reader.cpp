// The argument reader: converting values, matching names, saying what does not fit.
#include "bind/reader.h"

#include <algorithm>
#include <cstring>

namespace rl::bind {
namespace {

bool is_int(PyObject* o) {
  if (PyLong_Check(o)) return !PyBool_Check(o);
  if (is_tensor(o)) {
    const TensorBody* t = body_of(o);
    return t->numel == 1 && t->dim == 0 && is_integral(t->dtype) && !t->device.is_meta();
  }
  return PyIndex_Check(o) && !PyFloat_Check(o) && !PySequence_Check(o) &&
         std::strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0;
}

int64_t to_int(PyObject* o) {
  if (!PyLong_Check(o) && is_tensor(o)) return item_of(tensor_of(o)).to_int();
  const long long v = PyLong_Check(o) ? PyLong_AsLongLong(o)
                                      : PyLong_AsLongLong(Owned(need(PyNumber_Index(o))).get());
  if (v == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    fail(ErrorKind::Runtime, "Overflow when unpacking long long");
  }
  return v;
}

bool read_ints(const Param& p, PyObject* o, Arg& a, LazyRoom& room) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    PyObject** items = PySequence_Fast_ITEMS(o);
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!is_int(items[i])) return false;
    int64_t* list = room.ints(size_t(n));
    for (Py_ssize_t i = 0; i < n; ++i) list[i] = to_int(items[i]);
    a = Arg(Ints(list, size_t(n)));
    return true;
  }
  if (p.length > 0 && is_int(o)) {
    int64_t* list = room.ints(size_t(p.length));
    for (int i = 0; i < p.length; ++i) list[i] = to_int(o);
    a = Arg(Ints(list, size_t(p.length)));
    return true;
  }
  return false;
}

bool read_bools(PyObject* o, Arg& a, LazyRoom& room) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  int64_t* list = room.ints(size_t(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_ITEMS(o)[i];
    if (!PyBool_Check(item)) return false;
    list[i] = item == Py_True;
  }
  a = Arg(Ints(list, size_t(n)));
  return true;
}

bool read_tensors(const Param& p, PyObject* o, Arg& a, LazyRoom& room) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  PyObject** items = PySequence_Fast_ITEMS(o);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!is_tensor(items[i]) && !(p.optional_items && items[i] == Py_None)) return false;
  Tensors& list = room.get().tensors();
  list.reserve(size_t(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    list.push_back(items[i] == Py_None ? Tensor() : tensor_of(items[i]));
  a = Arg(TensorList(list));
  return true;
}

bool read_numbers(const Param& p, PyObject* o, Arg& a, LazyRoom& room) {
  std::vector<Scalar>* list = nullptr;
  Scalar s;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    list = &room.get().numbers();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
      if (!read_scalar(PySequence_Fast_ITEMS(o)[i], s)) return false;
      list->push_back(s);
    }
  } else if (p.length > 0 && read_scalar(o, s)) {
    list = &room.get().numbers();
    list->assign(size_t(p.length), s);
  } else {
    return false;
  }
  a = Arg(Span<Scalar>(list->data(), list->size()));
  return true;
}

// A number where one is asked for: Python's, numpy's, or a 0-d tensor's.
bool read_number(PyObject* o, Arg& a) {
  Scalar s;
  if (read_scalar(o, s)) {
    a = Arg(s);
    return true;
  }
  if (!is_tensor(o)) return false;
  const Tensor& t = tensor_of(o);
  if (t.dim() != 0 || t.is_meta() || t.needs_grad() || t->flags & kWrapped) return false;
  a = Arg(item_of(t));
  return true;
}

bool read_float(PyObject* o, Arg& a) {
  if (PyFloat_Check(o)) {
    a = Arg(PyFloat_AS_DOUBLE(o));
    return true;
  }
  if (PyLong_Check(o)) {
    const double v = PyLong_AsDouble(o);
    need(!(v == -1 && PyErr_Occurred()));
    a = Arg(v);
    return true;
  }
  Arg n;
  if (!read_number(o, n) || n.tag == Tag::Complex || n.tag == Tag::Bool) return false;
  a = Arg(n.scalar().to_double());
  return true;
}

bool read_bool(PyObject* o, Arg& a) {
  if (PyBool_Check(o)) a = Arg(o == Py_True);
  else if (std::strncmp(Py_TYPE(o)->tp_name, "numpy.bool", 10) == 0)
    a = Arg(PyObject_IsTrue(o) == 1);
  else return false;
  return true;
}

bool read_tensor(const Param& p, PyObject* o, Arg& a, LazyRoom& room) {
  if (is_tensor(o)) {
    a = Arg(body_of(o));
    return true;
  }
  Scalar s;
  if (!p.number || !read_scalar(o, s)) return false;
  if (p.name != "self") {
    a = Arg(s);
    return true;
  }
  Tensor t = wrapped_number(s);  // torch.add(1, x): the op needs a tensor there
  a = Arg(t.body());
  room.get().keep(std::move(t));
  return true;
}

// A list of ints that is empty unless given, such as the stride of a pool: None says the same.
bool none_is_empty(const Param& p) { return p.type == Type::Ints && p.default_text == "[]"; }

}  // namespace

bool read_value(const Param& p, PyObject* o, Arg& a, LazyRoom& room) {
  if (o == Py_None && p.optional) {
    a = Arg();
    return true;
  }
  if (o == Py_None && none_is_empty(p)) {
    a = p.fallback.arg();
    return true;
  }
  switch (p.type) {
    case Type::Tensor: return read_tensor(p, o, a, room);
    case Type::Int:
      if (!is_int(o)) return false;
      a = Arg(to_int(o));
      return true;
    case Type::Bool: return read_bool(o, a);
    case Type::Float: return read_float(o, a);
    case Type::Number: return read_number(o, a);
    case Type::Ints: return read_ints(p, o, a, room);
    case Type::Bools: return read_bools(o, a, room);
    case Type::Tensors: return read_tensors(p, o, a, room);
    case Type::Floats: case Type::Numbers: return read_numbers(p, o, a, room);
    case Type::DType: {
      DType t;
      if (!read_dtype(o, t)) return false;
      a = Arg(t);
      return true;
    }
    case Type::Device: {
      Device d;
      if (!read_device(o, d)) return false;
      a = Arg(d);
      return true;
    }
    case Type::Text:
      if (!PyUnicode_Check(o)) return false;
      a = Arg(utf8_of(o));
      return true;
    case Type::Layout:
      if (Py_TYPE(o) != layout_type) return false;
      a = Arg(int64_t(reinterpret_cast<NamedObject*>(o)->value));
      return true;
    case Type::MemoryFormat:
      if (Py_TYPE(o) != memory_format_type) return false;
      a = Arg(MemoryFormat(reinterpret_cast<NamedObject*>(o)->value));
      return true;
    case Type::Generator:
      if (Py_TYPE(o) != generator_type) return false;
      a = Arg(reinterpret_cast<GeneratorObject*>(o)->generator);
      return true;
  }
  return false;
}

namespace {

const char* type_word(const Param& p) {
  switch (p.type) {
    case Type::Tensor: return "Tensor";
    case Type::Tensors: return "tuple of Tensors";
    case Type::Int: return "int";
    case Type::Ints: return "tuple of ints";
    case Type::Float: return "float";
    case Type::Floats: return "tuple of floats";
    case Type::Bool: return "bool";
    case Type::Bools: return "tuple of bools";
    case Type::Number: return "Number";
    case Type::Numbers: return "tuple of Scalars";
    case Type::Text: return "str";
    case Type::DType: return "torch.dtype";
    case Type::Device: return "torch.device";
    case Type::Layout: return "torch.layout";
    case Type::Generator: return "torch.Generator";
    default: return "torch.memory_format";
  }
}

// The name that Python sees: functions say "input" where methods have self.
std::string_view shown_name(const Record&, size_t i, const Param& p, bool method) {
  const bool input = i == 0 && !method && p.type == Type::Tensor && p.name == "self";
  return input ? std::string_view("input") : std::string_view(p.name);
}

bool name_matches(std::string_view given, std::string_view shown) {
  if (given == shown) return true;
  if (shown == "dim") return given == "axis";
  if (shown == "keepdim") return given == "keepdims";
  if (shown == "input") return given == "self" || given == "x" || given == "a" || given == "x1";
  if (shown == "other") return given == "x2";
  return false;
}

}  // namespace

const char* python_type(PyObject* o) {
  const char* dot = std::strrchr(Py_TYPE(o)->tp_name, '.');
  return dot && std::strncmp(Py_TYPE(o)->tp_name, "torch.", 6) != 0 ? dot + 1 : Py_TYPE(o)->tp_name;
}

std::string signature_text(const Record& r, bool method) {
  std::string s = "(";
  bool star = false;
  for (size_t i = 0; i < r.params.size(); ++i) {
    const Param& p = r.params[i];
    if (method && i == 0) continue;
    if (s.size() > 1) s += ", ";
    if (p.keyword_only && !star) {
      s += "*, ";
      star = true;
    }
    s += type_word(p);
    s += " ";
    s += shown_name(r, i, p, method);
    if (p.has_default) s += " = " + (none_is_empty(p) ? "None" : p.default_text);
  }
  if (r.forms & Out && !method) {
    s += star ? ", " : ", *, ";
    s += r.visible > 1 ? "tuple of Tensors out = None" : "Tensor out = None";
  }
  return s + ")";
}

std::string types_text(const Call& call) {
  std::string s = "(";
  const Py_ssize_t named = call.names ? PyTuple_GET_SIZE(call.names) : 0;
  for (Py_ssize_t i = call.method ? 1 : 0; i < call.count; ++i) {
    if (s.size() > 1) s += ", ";
    s += python_type(call.args[i]);
  }
  // PyTorch keeps keywords in a hash table, which gives the last one first.
  if (call.out) s += (s.size() > 1 ? ", out=" : "out=") + std::string(python_type(call.out));
  for (Py_ssize_t i = named; i-- > 0;) {
    if (s.size() > 1) s += ", ";
    s += utf8_of(PyTuple_GET_ITEM(call.names, i));
    s += "=";
    s += python_type(call.args[call.count + i]);
  }
  return s + ")";
}

// Which of as many arguments as an overload takes have other types: "(Tensor, !str!)".
std::string mismatches_text(const Record& r, const Call& call) {
  const size_t self = call.method ? 1 : 0, n = r.params.size();
  const size_t takes = n - self + size_t((r.forms & Out) && !call.method);
  const size_t named = call.names ? size_t(PyTuple_GET_SIZE(call.names)) : 0;
  const size_t given = size_t(call.count) - self + named + size_t(call.out != nullptr);
  if (given != std::max<size_t>(takes, 1) || call.out) return "";
  Arg scratch;
  LazyRoom room;
  std::string types, strange;
  const auto say = [&](const Param* p, PyObject* value, const std::string& name) {
    const bool fits = p && read_value(*p, value, scratch, room);
    const char* mark = fits ? "" : "!";
    types += (types.empty() ? "" : ", ") + name + mark + python_type(value) + mark;
  };
  for (size_t i = self; i < size_t(call.count); ++i)
    say(i < n ? &r.params[i] : nullptr, call.args[i], "");
  for (size_t k = 0; k < named; ++k) {
    const std::string name(utf8_of(PyTuple_GET_ITEM(call.names, Py_ssize_t(k))));
    const Param* found = nullptr;
    for (size_t i = self; i < n; ++i)
      if (name_matches(name, shown_name(r, i, r.params[i], call.method))) found = &r.params[i];
    if (!found) strange += (strange.empty() ? "" : ", ") + name;
    say(found, call.args[size_t(call.count) + k], name + "=");
  }
  if (!strange.empty()) {
    return "\n      didn't match because some of the keywords were incorrect: " + strange;
  }
  return "\n      didn't match because some of the arguments have invalid types: (" + types + ")";
}

namespace {

bool mismatch(std::string* why, std::string words) {
  *why = std::move(words);
  return false;
}

bool all_ints(const Call& call, size_t first) {
  for (Py_ssize_t i = Py_ssize_t(first); i < call.count; ++i)
    if (!is_int(call.args[i])) return false;
  return call.count > Py_ssize_t(first);
}

// Positions after self may be given as one list or spread out: view(2, 3).
bool spread_ints(const Record& r, const Call& call, size_t first) {
  if (r.params.size() <= first || r.params[first].type != Type::Ints) return false;
  for (size_t i = first + 1; i < r.params.size(); ++i)
    if (!r.params[i].keyword_only) return false;
  return all_ints(call, first);
}

const Positions& positions_of(const Record& r) { return *static_cast<const Positions*>(r.python); }

// A list that begins with an int is one of ints: a later item of another type ends the search for
// an overload, as in PyTorch.
void check_rest_are_ints(const Record& r, const Param& p, PyObject* const* items, Py_ssize_t n) {
  if (n < 2 || !is_int(items[0])) return;
  for (Py_ssize_t i = 1; i < n; ++i) {
    check(is_int(items[i]) || PyBool_Check(items[i]), ErrorKind::Type, r.base, "(): argument '",
          p.name, "' failed to unpack the object at pos ", int64_t(i + 1),
          " with error \"type must be tuple of ints,but got ", python_type(items[i]), "\"");
  }
}

void check_rest_are_ints(const Record& r, const Param& p, PyObject* list) {
  if (p.type != Type::Ints || !(PyTuple_Check(list) || PyList_Check(list))) return;
  check_rest_are_ints(r, p, PySequence_Fast_ITEMS(list), PySequence_Fast_GET_SIZE(list));
}

// What a value is, when it is of the wrong type; in a list of ints, its first item.
std::string wrong_type(const Param& p, PyObject* value) {
  const bool list = p.type == Type::Ints && (PyTuple_Check(value) || PyList_Check(value)) &&
                    PySequence_Fast_GET_SIZE(value) > 0;
  if (!list) return text(", not ", python_type(value));
  return text(", but found element of type ", python_type(PySequence_Fast_GET_ITEM(value, 0)),
              " at pos 0");
}

// Says which item of a list of tensors is none.
bool odd_item(PyObject* list, size_t argument, std::string& why) {
  if (!PyList_Check(list) && !PyTuple_Check(list)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(list, k);
    if (is_tensor(item)) continue;
    why = text("expected Tensor as element ", int64_t(k), " in argument ", int64_t(argument),
               ", but got ", python_type(item));
    return true;
  }
  return false;
}

// The common call: positional arguments of the right types, defaults for the rest.
bool read_by_position(const Record& r, const Call& call, Arg* args, LazyRoom& room) {
  const Positions& p = positions_of(r);
  const size_t given = size_t(call.count);
  size_t read = 0;
  const auto one = [&](PyObject* o) {
    if (p.tensors >> read & 1 && Py_TYPE(o) == tensor_type) args[read] = Arg(body_of(o));
    else if (!read_value(r.params[read], o, args[read], room)) return false;
    ++read;
    return true;
  };
  const size_t list = p.most - 1;  // where a list of ints would be
  if (p.ints_last && given > list && PyLong_Check(call.args[list]) &&
      (given > p.most || r.params[list].length <= 1) && list == size_t(call.method)) {
    if (!all_ints(call, list)) return false;
    while (read < list)
      if (!one(call.args[read])) return false;
    int64_t* ints = room.ints(given - list);
    for (size_t i = list; i < given; ++i) ints[i - list] = to_int(call.args[i]);
    args[read++] = Arg(Ints(ints, given - list));
  } else {
    if (given < p.fewest || given > p.most) return false;
    while (read < given)
      if (!one(call.args[read])) return false;
  }
  for (; read < p.defaults.size(); ++read) args[read] = p.defaults[read];
  return true;
}

}  // namespace

Positions::Positions(const Record& r) : fewest(0), most(0), tensors(0) {
  for (size_t i = 0; i < r.params.size(); ++i) {
    const Param& p = r.params[i];
    if (!p.has_default && !(p.optional && p.keyword_only)) fewest = i + 1;
    if (!p.keyword_only) most = i + 1;
    tensors |= uint64_t(p.type == Type::Tensor) << i;
    defaults.push_back(p.fallback.arg());
  }
  ints_last = most > 0 && fewest <= most && r.params[most - 1].type == Type::Ints;
}

void prepare_reading(Record& r) { r.python = new Positions(r); }

int64_t fewest(const Record& r) {
  int64_t n = 0;
  for (const Param& p : r.params) n += !p.has_default;
  return n;
}

namespace {

size_t self_of(const Call& call) { return call.method ? 1 : 0; }
Py_ssize_t named(const Call& call) { return call.names ? PyTuple_GET_SIZE(call.names) : 0; }

// Ints spread out over the positions after self, as the list that the record asks for.
bool read_spread(const Record& r, const Call& call, Arg& a, LazyRoom& room) {
  const size_t self = self_of(call), given = size_t(call.count);
  if (given <= self || !spread_ints(r, call, self)) return false;
  int64_t* list = room.ints(given - self);
  for (size_t i = self; i < given; ++i) list[i - self] = to_int(call.args[i]);
  a = Arg(Ints(list, given - self));
  const Param& p = r.params[self];
  if (p.length > 1 && given - self == 1) read_value(p, call.args[self], a, room);
  return true;
}

std::string too_many(const Record& r, const Call& call, size_t allowed) {
  const int64_t self = int64_t(self_of(call)), given = int64_t(call.count) - self;
  const int64_t most = int64_t(allowed) - self, least = fewest(r) - self;
  if (least != most) {
    return text(r.base, "() takes from ", least, " to ", most, " positional arguments but ", given,
                " were given");
  }
  return text(r.base, "() takes ", most, " positional argument", most == 1 ? "" : "s", " but ",
              given, given == 1 ? " was given" : " were given");
}

// Names the parameters from `first` on that must be given.
std::string missing_from(const Record& r, const Call& call, size_t first) {
  std::string missing;
  int count = 0;
  for (size_t m = first; m < r.params.size(); ++m) {
    const Param& p = r.params[m];
    if (p.has_default || p.keyword_only) break;
    missing += text(count++ ? ", \"" : "\"", shown_name(r, m, p, call.method), "\"");
  }
  return text(r.base, "() missing ", int64_t(count), " required positional arguments: ", missing);
}

std::string wrong_value(const Record& r, const Call& call, size_t i, PyObject* value,
                        bool by_position) {
  const size_t self = self_of(call);
  const Param& p = r.params[i];
  std::string why;
  if (p.type == Type::Tensors && odd_item(value, i - self, why)) return why;
  const std::string place = by_position ? text(" (position ", int64_t(i + 1 - self), ")") : "";
  return text(r.base, "(): argument '", shown_name(r, i, p, call.method), "'", place, " must be ",
              type_word(p), wrong_type(p, value));
}

// The value that a call gives parameter i by name, or null; a bit of `taken` for each keyword used.
PyObject* value_by_name(const Record& r, const Call& call, size_t i, uint64_t& taken) {
  const std::string_view shown = shown_name(r, i, r.params[i], call.method);
  const Py_ssize_t most = std::min<Py_ssize_t>(named(call), 64);  // more are never all right
  for (Py_ssize_t k = 0; k < most; ++k) {
    if (!name_matches(utf8_of(PyTuple_GET_ITEM(call.names, k)), shown)) continue;
    taken |= uint64_t(1) << k;
    return call.args[call.count + k];
  }
  return nullptr;
}

// What is wrong with the first keyword that no parameter took; empty where all were.
std::string odd_keyword(const Record& r, const Call& call, size_t positional, uint64_t taken) {
  for (Py_ssize_t k = 0; k < named(call); ++k) {
    if (k < 64 && (taken >> k & 1)) continue;
    const std::string_view s = utf8_of(PyTuple_GET_ITEM(call.names, k));
    for (size_t i = 0; i < positional; ++i)
      if (name_matches(s, shown_name(r, i, r.params[i], call.method)))
        return text(r.base, "() got multiple values for argument '", s, "'");
    return text(r.base, "() got an unexpected keyword argument '", s, "'");
  }
  return {};
}

}  // namespace

bool read_call(const Record& r, const Call& call, Arg* args, LazyRoom& room, std::string* why) {
  if (!call.names && read_by_position(r, call, args, room)) return true;
  const size_t n = r.params.size(), self = self_of(call);
  const bool spread = n > self && read_spread(r, call, args[self], room);
  const size_t positional = spread ? self + 1 : size_t(call.count);
  size_t allowed = 0;
  while (allowed < n && !r.params[allowed].keyword_only) ++allowed;
  if (positional > allowed) {
    if (allowed == self + 1 && r.params[self].type == Type::Ints)
      check_rest_are_ints(r, r.params[self], call.args + self, call.count - Py_ssize_t(self));
    return why ? mismatch(why, too_many(r, call, allowed)) : false;
  }
  uint64_t taken = 0;
  for (size_t i = 0; i < n; ++i) {
    if (spread && i == self) continue;
    const Param& p = r.params[i];
    PyObject* value = i < positional ? call.args[i] : value_by_name(r, call, i, taken);
    if (!value) {
      if (!p.has_default && !(p.optional && p.keyword_only))
        return why ? mismatch(why, missing_from(r, call, i)) : false;
      args[i] = p.fallback.arg();
    } else if (!read_value(p, value, args[i], room)) {
      check_rest_are_ints(r, p, value);
      return why ? mismatch(why, wrong_value(r, call, i, value, i < positional)) : false;
    }
  }
  if (!call.names || __builtin_popcountll(taken) == named(call)) return true;
  return why ? mismatch(why, odd_keyword(r, call, positional, taken)) : false;
}

}  // namespace rl::bind
